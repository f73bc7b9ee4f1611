"""What iteration hooks give back, and what custom handlers are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from spanhook.store import Frame


class HookEvent(StrEnum):
    """When a hook runs."""

    ITERATION_START = "iteration_start"
    ITERATION_END = "iteration_end"
    ERROR = "error"
    COMPLETION = "completion"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """What a handler is told.

    Attributes:
        session_id: The session.
        iteration: The number of the iteration, counted from 0.
        timestamp: When, in UTC.
        event: What has happened.
        data: What the hook was called with; at the start of an iteration, the ``frames`` that were loaded. Read-only.
    """

    session_id: str
    iteration: int
    timestamp: datetime
    event: HookEvent
    data: Mapping[str, Any]


Handler = Callable[[HookContext], Any]
"""A function that is told of an event, sync or async; what it returns is ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """What a hook has done.

    Attributes:
        success: Whether it did what it is for; also if it is off.
        frame_id: The frame that was written, if one was.
        context_loaded: How many frames were loaded.
        error: What kept it from doing so, as text.
        frames: The frames that were loaded, oldest first.
    """

    success: bool = True
    frame_id: str | None = None
    context_loaded: int = 0
    error: str | None = None
    frames: tuple[Frame, ...] = ()
