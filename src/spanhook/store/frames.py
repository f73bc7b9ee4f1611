"""Frames, of which an agent's memory consists, and the protocol of what stores them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

FrameType = Literal["iteration", "error", "decision", "completion", "note"]
TYPES = ("iteration", "error", "decision", "completion", "note")
MOST_FRAMES = 1_000
"""The most frames that one query returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One thing that an agent remembers.

    Attributes:
        id: A unique id; a second frame with the same id is ignored.
        session_id: The session that the frame belongs to.
        tenant_id: The session's tenant; tenants never see each other's frames.
        type: The type of the frame.
        iteration: The number of the iteration, counted from 0.
        content: The text to remember.
        importance: From 1 (trivial) to 10 (critical).
        tags: Tags.
        success: Whether the iteration or session succeeded; ``None`` for other frames.
        time_ns: The time, in nanoseconds since the epoch.
        details: Further data, which must be JSON-serializable.
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
    """Statistics of a session.

    Attributes:
        frames: The number of frames.
        iterations: The number of finished iterations.
        succeeded: How many of them succeeded.
        failed: How many of them failed.
        errors: The number of errors.
        decisions: The number of decisions.
        completed: Whether a summary of the session has been stored.
        last_iteration: The highest iteration number, counted from 0; -1 without frames.
        first_ns, last_ns: The times of the first and last frame, in nanoseconds since the epoch; 0 without frames.
        error: Why the memory could not count them; empty if it could.
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
    error: str = ""


class FrameMemory(Protocol):
    """Stores frames. Its methods must be thread-safe.

    Attributes:
        blocking: Whether its methods wait for a disk or a network. If so, async code calls them in a thread.
    """

    @property
    def blocking(self) -> bool: ...

    def add(self, frame: Frame) -> None:
        """Store a frame; do nothing if its id is already stored."""
        ...

    def recent(
        self, limit: int, *, tenant_id: str = "", session_id: str | None = None, type: FrameType | None = None
    ) -> list[Frame]:
        """Return the newest frames of a tenant.

        Args:
            limit: The maximum number of frames, never more than 1,000.
            tenant_id: The tenant.
            session_id: Only frames of this session; by default of all the tenant's sessions.
            type: Only frames of this type.

        Returns:
            The frames, oldest first.
        """
        ...

    def statistics(self, session_id: str, *, tenant_id: str = "") -> SessionStatistics:
        """Return statistics of a session."""
        ...
