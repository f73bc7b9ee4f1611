"""Frames, which an agent's memory of its sessions is made of, and what keeps them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

FrameType = Literal["iteration", "error", "decision", "completion", "note"]
TYPES = ("iteration", "error", "decision", "completion", "note")
MOST_FRAMES = 1_000
"""So many frames one query gives at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One thing that an agent remembers.

    Attributes:
        id: Unique; a frame with an id that is there already is not added again.
        session_id: The session it was made in.
        tenant_id: The tenant whose session that is; tenants never see each other's frames.
        type: What sort of thing.
        iteration: The number of the iteration, counted from 0.
        content: The text to remember.
        importance: From 1, trivial, to 10, critical.
        tags: Words to find it by.
        success: Whether the iteration or session succeeded; ``None`` for frames that do not say.
        time_ns: When, in nanoseconds since the epoch.
        details: Further facts, of plain data that JSON has.
    """

    id: str
    session_id: str
    type: FrameType
    content: str
    tenant_id: str = ""
    iteration: int = 0
    importance: int = 5
    tags: tuple[str, ...] = ()
    success: bool | None = None
    time_ns: int = 0
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatistics:
    """What a session has come to so far.

    Attributes:
        frames: All of its frames.
        iterations: Iterations that have ended.
        succeeded: Those that succeeded.
        failed: Those that failed.
        errors: Errors.
        decisions: Decisions.
        completed: Whether a completion has been written.
        last_iteration: The highest number of an iteration in any frame, counted from 0; -1 without frames.
        first_ns, last_ns: When its first and last frame were made, in nanoseconds since the epoch; 0 without frames.
    """

    frames: int = 0
    iterations: int = 0
    succeeded: int = 0
    failed: int = 0
    errors: int = 0
    decisions: int = 0
    completed: bool = False
    last_iteration: int = -1
    first_ns: int = 0
    last_ns: int = 0


class FrameMemory(Protocol):
    """What keeps frames. Any thread may call it at any time.

    Attributes:
        blocking: Whether it waits for a disk or another machine, so that async code has it called in a thread.
    """

    @property
    def blocking(self) -> bool: ...

    def add(self, frame: Frame) -> None:
        """Keep a frame; nothing if one of its id is there."""
        ...

    def recent(
        self, limit: int, *, tenant_id: str = "", session_id: str | None = None, type: FrameType | None = None
    ) -> list[Frame]:
        """The newest frames of a tenant.

        Args:
            limit: How many at most; never more than 1,000.
            tenant_id: Whose.
            session_id: Of this session alone; of all the tenant's sessions unless given.
            type: Of this type alone.

        Returns:
            The frames, oldest first.
        """
        ...

    def statistics(self, session_id: str, *, tenant_id: str = "") -> SessionStatistics:
        """What a session has come to so far."""
        ...
