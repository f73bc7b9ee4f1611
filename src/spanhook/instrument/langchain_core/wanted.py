"""Whether hooks may decide about what callbacks are told; asked while LangChain is being imported, so without it."""

from typing import Protocol
from weakref import WeakValueDictionary

from spanhook.engine import registry
from spanhook.gating import Plan

_KINDS = ("llm.call", "tool.execute", "retrieval.query")


class Keeper(Protocol):
    """What keeps the callbacks of an operation."""

    @property
    def waiting(self) -> bool:
        """Whether hooks have yet to decide."""
        ...


_keepers: "WeakValueDictionary[int, Keeper]" = WeakValueDictionary()
"""By id: those of operations under way, which go on with the hooks that they began with."""


def keep(keeper: Keeper) -> None:
    """Hold back for as long as this one waits, whatever hooks are in force by then."""
    _keepers[id(keeper)] = keeper
    if not _by_plans(registry.outer):
        registry.tell()


def ends(plans: dict[str, Plan]) -> bool:
    """Whether hooks see results that callbacks are told of, or hooks have yet to decide about some."""
    return _by_plans(plans) or _waiting()


def _by_plans(plans: dict[str, Plan]) -> bool:
    return "agent.delegate" in plans or any(kind in plans and plans[kind].results for kind in _KINDS)


def _waiting() -> bool:
    # References are listed at one go. Going through what they refer to fails where another thread adds one meanwhile.
    for reference in _keepers.valuerefs():
        one = reference()
        if one is not None and one.waiting:
            return True
        if one is not None:
            _keepers.pop(id(one), None)  # it will wait no more
    return False


def parts(plans: dict[str, Plan]) -> bool:
    """Whether hooks hold back what tools have come to."""
    plan = plans.get("tool.execute")
    return (plan is not None and bool(plan.buffers)) or _waiting()
