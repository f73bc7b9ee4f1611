"""What happens in a job, as numbered events that any number of readers can follow, from the start or from the middle.

Everything here belongs to one event loop.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

STATUS: Final = "status"
TEXT: Final = "text:delta"
TOOL_CALL: Final = "tool:call"
TOOL_RESULT: Final = "tool:result"
DELEGATE: Final = "agent:delegate"
USAGE: Final = "usage"
LOST: Final = "lost"
DONE: Final = "done"
"""The types of events."""

MOST_KEPT: Final = 1000
"""How many events of a job are kept; then the oldest go."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that has happened in a job.

    Attributes:
        id: 1 for the first, and one more for each that follows.
        type: ``status``, ``text:delta``, ``tool:call``, ``tool:result``, ``agent:delegate``, ``usage``, ``lost`` or
            ``done``, which is the last one.
        data: Plain data about it.
        time_ns: When, in nanoseconds since the epoch.
    """

    id: int
    type: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])
    time_ns: int = 0


def lost(after: int, first: int) -> JobEvent:
    """What a reader is told of events that are no longer kept: their ids. Its own id is the last of theirs."""
    return JobEvent(first - 1, LOST, {"from": after + 1, "to": first - 1})


class Journal:
    """The events of one job, as long as they are kept.

    Args:
        clock: Gives the time in nanoseconds since the epoch.
        first: The id of the first event.
        most: How many are kept.
    """

    def __init__(self, clock: Callable[[], int], *, first: int = 1, most: int = MOST_KEPT) -> None:
        self._clock = clock
        self._kept: deque[JobEvent] = deque(maxlen=most)
        self._next = first
        self._changed = asyncio.Event()
        self.closed = False

    @property
    def last(self) -> int:
        """The id of the last event."""
        return self._next - 1

    def publish(self, type: str, data: Mapping[str, Any]) -> JobEvent | None:
        """Add an event; none comes after ``done``."""
        if self.closed:
            return None
        event = JobEvent(self._next, type, data, self._clock())
        self._kept.append(event)
        self._next += 1
        self.closed = type == DONE
        self._changed.set()
        self._changed = asyncio.Event()
        return event

    def since(self, after: int) -> Sequence[JobEvent]:
        """What is kept after an event, with ``lost`` in place of what is not."""
        if after >= self.last:
            return ()
        first = self._kept[0].id
        if after + 1 < first:
            return (lost(after, first), *self._kept)
        return tuple(self._kept)[after + 1 - first :]

    async def changed_after(self, after: int) -> None:
        """Wait until there is an event after this one."""
        while self.last <= after and not self.closed:
            await self._changed.wait()

    async def read(self, after: int = 0) -> AsyncGenerator[JobEvent]:
        """All events after the one with this id, as they come, until ``done``."""
        after = min(after, self.last)
        while True:
            waiting = self._changed  # before looking, as an event may come while those found are passed on
            for event in self.since(after):
                after = event.id
                yield event
            if after >= self.last:
                if self.closed:
                    return
                await waiting.wait()
