"""Whether hooks may decide about what callbacks are told; asked while LangChain is being imported, so without it."""

from typing import Protocol
from weakref import WeakSet

from spanhook.registry import Plan

_KINDS = ("llm.call", "tool.execute", "retrieval.query")


class Keeper(Protocol):
    """What keeps the callbacks of an operation."""

    @property
    def waiting(self) -> bool:
        """Whether hooks have yet to decide."""
        ...


keepers: "WeakSet[Keeper]" = WeakSet()
"""Those of operations under way, which go on with the wrappers that they began with."""


def ends(plans: dict[str, Plan]) -> bool:
    """Whether hooks see results that callbacks are told of, or hooks have yet to decide about some."""
    if "agent.delegate" in plans or any(kind in plans and plans[kind].results for kind in _KINDS):
        return True
    for one in list(keepers):
        if one.waiting:
            return True
        keepers.discard(one)  # it will wait no more
    return False


def parts(plans: dict[str, Plan]) -> bool:
    """Whether hooks hold back what tools have come to."""
    plan = plans.get("tool.execute")
    return plan is not None and bool(plan.buffers)
