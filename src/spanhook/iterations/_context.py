"""Results of iteration hooks, and the context that handlers receive."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from spanhook.store import Frame


class HookEvent(StrEnum):
    """The events of a loop, at which hooks and handlers run."""

    ITERATION_START = "iteration_start"
    ITERATION_END = "iteration_end"
    ERROR = "error"
    COMPLETION = "completion"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """The argument of a handler.

    Attributes:
        session_id: The session.
        iteration: The number of the iteration, counted from 0.
        timestamp: The time, in UTC.
        event: The event.
        data: What the hook was called with; when an iteration starts, the loaded ``frames``. Read-only.
    """

    session_id: str
    iteration: int
    timestamp: datetime
    event: HookEvent
    data: Mapping[str, Any]


Handler = Callable[[HookContext], Any]
"""A function that is called on an event, sync or async. Its return value is ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """The result of a hook.

    Attributes:
        success: Whether the hook succeeded; a disabled hook succeeds.
        frame_id: The id of the frame that was written, if any.
        context_loaded: How many frames were loaded.
        error: Why the hook failed, as text.
        frames: The frames that were loaded, oldest first.
    """

    success: bool = True
    frame_id: str | None = None
    context_loaded: int = 0
    error: str | None = None
    frames: tuple[Frame, ...] = ()
