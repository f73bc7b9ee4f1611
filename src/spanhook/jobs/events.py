"""What happens in a job, as numbered events that any number of readers can follow, from the start or from the middle.

Everything here belongs to one event loop.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

STATUS: Final = "status"
TEXT: Final = "text:delta"
TOOL_CALL: Final = "tool:call"
TOOL_RESULT: Final = "tool:result"
DELEGATE: Final = "agent:delegate"
WAITING: Final = "approval:waiting"
USAGE: Final = "usage"
LOST: Final = "lost"
DONE: Final = "done"
"""The types of events."""

MOST_KEPT: Final = 1000
"""How many events of a job are kept; then the oldest go."""
MOST_CHARACTERS: Final = 2_000_000
"""How many characters they may have in all, as JSON."""
_MOST_HELD: Final = 10
"""How many times as many may wait to be released."""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something that has happened in a job.

    Attributes:
        id: 1 for the first, and one more for each that follows.
        type: ``status``, ``text:delta``, ``tool:call``, ``tool:result``, ``agent:delegate``, ``approval:waiting``,
            ``usage``, ``lost`` or ``done``, which is the last one.
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
        held: Whether readers see an event only once it is released: so none sees what a crash could still undo.
    """

    def __init__(self, clock: Callable[[], int], *, first: int = 1, most: int = MOST_KEPT, held: bool = False) -> None:
        self._clock = clock
        self._kept, self._sizes = deque[JobEvent](), deque[int]()
        self._most, self._characters = most, 0
        self._next = first
        self._held, self._released = held, first - 1
        self._published, self._changed = asyncio.Event(), asyncio.Event()
        self.closed = False

    @property
    def last(self) -> int:
        """The id of the last event."""
        return self._next - 1

    @property
    def readable(self) -> int:
        """The id of the last event that readers see."""
        return self._released if self._held else self.last

    @property
    def done(self) -> bool:
        """Whether the last event says that the job has ended."""
        return bool(self._kept) and self._kept[-1].type == DONE

    def publish(self, type: str, data: Mapping[str, Any]) -> JobEvent | None:
        """Add an event; none comes after ``done``."""
        if self.closed:
            return None
        event = JobEvent(self._next, type, data, self._clock())
        self._kept.append(event)
        self._sizes.append(_characters(event))
        self._characters += self._sizes[-1]
        self._next += 1
        self._trim()
        self.closed = type == DONE
        self._published.set()
        self._published = asyncio.Event()
        if not self._held:
            self._wake()
        return event

    def release(self, upto: int) -> None:
        """Let readers see the events up to this one."""
        self._released = upto
        self._trim()
        self._wake()

    def release_all(self) -> None:
        """Hold nothing back any more."""
        self._held = False
        self._wake()

    def end(self) -> None:
        """Take no more events, although the job has not ended."""
        self.closed = True
        self._published.set()
        self._wake()

    def cut(self) -> None:
        """Take back what was not released, and take no more events: they are another's to tell."""
        while self._kept and self._kept[-1].id > self.readable:
            self._kept.pop()
            self._characters -= self._sizes.pop()
        self._next = self.readable + 1
        self.end()

    def _trim(self) -> None:
        """Let the oldest go; those that wait to be released last, so that they are written first."""
        while len(self._kept) > 1 and (len(self._kept) > self._most or self._characters > MOST_CHARACTERS):
            waits = self._kept[0].id > self.readable
            if (
                waits
                and len(self._kept) <= _MOST_HELD * self._most
                and self._characters <= _MOST_HELD * MOST_CHARACTERS
            ):
                return
            self._kept.popleft()
            self._characters -= self._sizes.popleft()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def since(self, after: int) -> Sequence[JobEvent]:
        """What is kept after an event, with ``lost`` in place of what is not."""
        if after >= self.last:
            return ()
        first = self._kept[0].id if self._kept else self._next
        if after + 1 < first:
            return (lost(after, first), *self._kept)
        return [self._kept[-place] for place in range(self.last - after, 0, -1)]

    def has(self, after: int) -> bool:
        """Whether everything after an event is kept."""
        return after >= self.last or (bool(self._kept) and self._kept[0].id <= after + 1)

    async def changed_after(self, after: int) -> None:
        """Wait until there is an event after this one."""
        while self.last <= after and not self.closed:
            await self._published.wait()

    async def read(self, after: int = 0) -> AsyncGenerator[JobEvent]:
        """All events after the one with this id, as they come, until ``done``."""
        after = min(after, self.readable)
        while True:
            waiting = self._changed  # before looking, as an event may come while those found are passed on
            until = self.readable
            for event in self.since(after):
                if event.id > until:
                    break
                after = event.id
                yield event
            if self.closed and after >= self.last:
                return
            if after >= self.readable:
                await waiting.wait()


def _characters(event: JobEvent) -> int:
    return sum(len(one) if isinstance(one, str) else len(as_json(one)) for one in event.data.values())


def as_json(value: Any) -> str:
    """Plain data as JSON; what is none is there as text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, or circles
        return str(value)
