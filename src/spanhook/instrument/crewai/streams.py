"""Parts of answers that models send to CrewAI's event bus while they still write: streaming output is made of them.

This imports nothing of CrewAI: it is read while that is being imported.
"""

from collections.abc import Callable
from typing import Any

from spanhook.instrument.layers import CREWAI_MODEL
from spanhook.model import current_record

_PARTS = frozenset(("LLMStreamChunkEvent", "LLMThinkingChunkEvent"))


def wanted(_hooks: object) -> bool:
    """Always: a call under way keeps its hooks, whatever hooks are active while its parts arrive."""
    return True


def hold(_emit: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an event is a part of an answer, and hooks hold streams back: then the answer goes out whole."""
    event = args[1] if len(args) > 1 else kwargs.get("event")
    if type(event).__name__ not in _PARTS:
        return False
    op = current_record()
    while op is not None and op.adapter.layer != CREWAI_MODEL:
        op = op.parent
    if op is None or op.plan is None:
        return False
    return any(bound.concerns(op) for bound in (*op.plan.buffers, *op.plan.windows))
