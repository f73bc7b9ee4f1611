"""How the operation of a stream ends: exactly once, whether its consumer reads to the end, stops early, drops the
stream or is interrupted.

Knows nothing of a stream's steps; see ``streams``.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Literal

from spanhook.concurrency import reaper, running_loop
from spanhook.engine._chunks import Reading
from spanhook.engine._completion import afinish, finish, orphan
from spanhook.engine._pending import leave_to_reaper, take_from_reaper
from spanhook.engine.lifecycle import returned
from spanhook.model import EndDetails, Record, current
from spanhook.telemetry import context_with, get_context, set_context

_unfinished: set[Record] = set()
"""Strong references to operations of active streams that have hooks. For a stream in a reference cycle, the garbage
collector would otherwise close the hooks before it notifies anybody."""


TrackState = Literal["lazy", "flowing", "holding", "releasing", "refused", "passing"]
"""What a stream is doing; see ``Track``."""

ENDED: frozenset[TrackState] = frozenset(("releasing", "refused", "passing"))
"""States in which the operation has ended, or there is none."""

ANSWERED: frozenset[TrackState] = frozenset(("releasing", "refused"))
"""States in which the source is not stepped any more: hooks have refused, answered or seen all of it."""


class Ending:
    """The state that a stream needs to end.

    Args:
        is_async: Whether the stream's steps are awaited.

    Attributes:
        op: The operation, once it has begun.
        state: What the stream is doing.
        hand: Called by a finalizer when the consumer drops the stream: a C function.
        brief: Reads a chunk of the usual form, and says whether it has it; set while a step consists of nothing else.
    """

    __slots__ = ("_ends", "_loop", "_reading", "brief", "hand", "is_async", "op", "state")

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self.op: Record | None = None
        self.state: TrackState = "lazy"
        self.hand: Callable[[], Any] = int
        self.brief: Callable[[Any], bool] | None = None
        self._ends = count()
        self._reading: Reading | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def _keep(self, op: Record) -> None:
        """From here on the operation ends with the stream, even if nobody closes it."""
        self.op = op
        reaper.start()
        if op.parent is not None:
            leave_to_reaper(op)
        self.hand = partial(reaper.put, (type(self)._dropped, self))
        if self.is_async and op.plan is not None:
            self._loop = running_loop()

    def _hold(self, op: Record) -> None:
        """Keep the hooks that run after the stream."""
        if op.runner is not None:
            _unfinished.add(op)

    def _release(self, op: Record) -> None:
        """Nothing has to be kept, read or ended any more."""
        self.hand = int
        self._reading = None  # what it reads may lead back here
        _unfinished.discard(op)
        if op.parent is not None:
            take_from_reaper(op)

    async def _finish(self, op: Record) -> None:
        """The stream has ended: run the remaining hooks and end the operation."""
        if next(self._ends):  # it was dropped while an object that belongs to it is being closed
            return
        self.brief = None
        if self.state not in ANSWERED:
            self.state = "passing"
        returned(op)
        self._read(op)
        # Hooks need the context, which steps skipped or have already left.
        held = (get_context(), current.get()) if op.runner is not None and current.get() is not op else None
        try:
            if held is not None:
                set_context(context_with(op.span, op.before))
                current.set(op)
            if self.is_async:
                await afinish(op)
            else:
                finish(op)
        finally:
            if held is not None:
                try:
                    set_context(held[0])
                finally:
                    current.set(held[1])
        self._release(op)

    def _leave(self, op: Record) -> None:
        """The consumer lets go of the stream: note whether it stopped before the end."""
        complete = self._reading is not None and self._reading.is_complete()
        if not complete and not op.ending.left:
            op.part(EndDetails).left = "abandoned"

    def _read(self, op: Record) -> None:
        """Read the chunks that have arrived."""
        if self._reading is not None and op.called:
            self._reading.tell(op)

    # ------------------------------------------------------------------------------------------- without the consumer

    def _dropped(self) -> None:
        """The consumer dropped the stream without closing it; the reaper ends it."""
        op = self.op
        self.hand = int
        if op is None or op.ended or self.state in ENDED or next(self._ends):
            return
        self.brief = None
        self.state = "passing"
        self._leave(op)
        self._end_alone(op)

    def _interrupted(self, op: Record, error: BaseException) -> None:
        """A step was interrupted inside spanhook's code; the reaper ends the stream."""
        self.hand = int
        if op.reported:
            return
        op.ends_again()
        if not op.end_ns and op.error is None:
            op.error = error
        self._end_alone(op)

    def _end_alone(self, op: Record) -> None:
        _unfinished.discard(op)
        if not op.end_ns:
            self._read(op)
        orphan(op, is_async=self.is_async, loop=self._loop)
