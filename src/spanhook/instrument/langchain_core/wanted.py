"""Whether hooks may decide about callback events, and passing these on; called while LangChain is being imported, so it
does not import it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol
from weakref import WeakValueDictionary

from spanhook import engine
from spanhook.engine import registry
from spanhook.gating import Plan, Registry
from spanhook.instrument.langchain_core.reported import keep_report
from spanhook.model import Args, Kwargs

_KINDS = ("llm.call", "tool.execute", "retrieval.query")


class Keeper(Protocol):
    """The holder of an operation's callback events."""

    @property
    def waiting(self) -> bool:
        """Whether hooks have yet to decide."""
        ...


_keepers: "WeakValueDictionary[int, Keeper]" = WeakValueDictionary()
"""By id: the holders of running operations, which keep the hooks they began with."""


def keep(keeper: Keeper) -> None:
    """Hold events as long as this holder waits, whatever hooks are active then."""
    _keepers[id(keeper)] = keeper
    if not _by_plans(registry.outer):
        registry.tell()


def ends(hooks: Registry) -> bool:
    """Whether hooks see results that are also sent to callbacks, or still have to decide about some."""
    return _by_plans(hooks.outer) or _waiting()


def _by_plans(plans: dict[str, Plan]) -> bool:
    return "agent.delegate" in plans or any(kind in plans and plans[kind].results for kind in _KINDS)


def _waiting() -> bool:
    # The references are listed in one step: iterating over the referents fails if another thread adds one meanwhile.
    for reference in _keepers.valuerefs():
        one = reference()
        if one is not None and one.waiting:
            return True
        if one is not None:
            _keepers.pop(id(one), None)  # it has stopped waiting
    return False


def windows(hooks: Registry) -> bool:
    """Whether hooks want to see the text of streams before it goes out."""
    plan = hooks.outer.get("llm.call")
    return plan is not None and bool(plan.windows)


def parts(hooks: Registry) -> bool:
    """Whether hooks hold back the output of tools."""
    plan = hooks.outer.get("tool.execute")
    return (plan is not None and bool(plan.buffers or plan.windows)) or _waiting()


def called_back(wrapped: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Pass an event to callbacks."""
    keep_report(args)
    return engine.called_back(wrapped, args, kwargs)


def acalled_back(wrapped: Callable[..., Awaitable[Any]], args: Args, kwargs: Kwargs) -> Awaitable[Any]:
    """``called_back`` for a coroutine function."""
    keep_report(args)
    return engine.acalled_back(wrapped, args, kwargs)
