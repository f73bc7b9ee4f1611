"""How the operation of a stream ends that its consumer has dropped, or that was interrupted: without the consumer."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Protocol
from weakref import ref

from spanhook.concurrency import reaper
from spanhook.engine._chunks import Reading
from spanhook.engine._completion import orphan
from spanhook.engine._pending import is_around_others, leave_to_reaper, take_from_reaper
from spanhook.engine._windowed import Outgoing
from spanhook.model import EndDetails, Record

_unfinished: set[Record] = set()
"""Strong references to operations of active streams that have hooks. For a stream in a reference cycle, the garbage
collector would otherwise close the hooks before it notifies anybody."""


_TURNS, _QUICK_TURNS = 8, 4
"""How often the end of a dropped stream goes behind others on the reaper's queue, while streams inside it have not
ended.
"""


class Stream(Protocol):
    """What a stream's end tells it, if somebody still holds it."""

    def detach(self) -> None:
        """Its operation ends without it."""


class StreamEnd:
    """What ends the operation of a stream.

    It does not refer to the stream. So one that is dropped is released at once, where the consumer drops it, and its
    ``finally`` blocks run there, as without spanhook.

    Args:
        stream: The stream that it belongs to.
        is_async: Whether its steps are awaited.

    Attributes:
        once: Gives 0 to the first caller, which then ends the operation.
        op: The operation, once it has begun.
        reading: Reads the stream's chunks, if they are read.
        outgoing: What has arrived of the stream and not gone out, if hooks see its text first.
        loop: The loop that its hooks belong to.
    """

    __slots__ = ("_stream", "is_async", "loop", "once", "op", "outgoing", "reading")

    def __init__(self, stream: Stream, *, is_async: bool) -> None:
        self._stream = ref(stream)
        self.is_async = is_async
        self.once = count()
        self.op: Record | None = None
        self.reading: Reading | None = None
        self.outgoing: Outgoing | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def hold(self, op: Record) -> None:
        """Keep the hooks that run after the stream."""
        if op.runner is not None:
            _unfinished.add(op)

    def keep(self, op: Record) -> Callable[[], Any]:
        """From here on the operation ends with the stream, even if nobody closes it.

        Returns:
            What the stream's finalizer calls: a C function.
        """
        self.op = op
        reaper.start()
        if op.parent is not None:
            leave_to_reaper(op)
        return partial(reaper.put, (type(self).dropped, self))

    def release(self, op: Record) -> None:
        """Nothing has to be kept, read or ended any more."""
        self.reading = self.outgoing = None  # what it reads may lead back to the stream
        _unfinished.discard(op)
        if op.parent is not None:
            take_from_reaper(op)

    def read(self, op: Record) -> None:
        """Read the chunks that have arrived."""
        if self.reading is None:
            return
        if self.outgoing is not None:
            for chunk in self.outgoing.left():
                self.reading.shows(op, chunk)
        if op.called:
            self.reading.tell(op)

    def leave(self, op: Record) -> None:
        """The consumer lets go of the stream: note whether it stopped before the end."""
        complete = self.reading is not None and self.reading.is_complete()
        if not complete and not op.ending.left:
            op.part(EndDetails).left = "abandoned"

    def dropped(self, turn: int = 0) -> None:
        """The consumer dropped the stream without closing it; the reaper ends its operation, after those inside it that
        were dropped with it.
        """
        op = self.op
        if op is None or op.ended:
            return
        if turn < _TURNS and is_around_others(op):
            if turn >= _QUICK_TURNS:
                time.sleep(0.001)  # whoever drops it has not come to those inside
            reaper.put((StreamEnd.dropped, self, turn + 1))
            return
        if next(self.once):
            return
        stream: Any = self._stream()
        if stream is not None:
            stream.detach()
        self.leave(op)
        self.alone(op)

    def alone(self, op: Record) -> None:
        """End the operation, in another thread than the consumer's."""
        _unfinished.discard(op)
        if not op.end_ns:
            self.read(op)
        orphan(op, is_async=self.is_async, loop=self.loop)
        if op.reported:
            take_from_reaper(op)
