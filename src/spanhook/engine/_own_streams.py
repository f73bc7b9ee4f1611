"""Streams of ``with`` blocks: the operation ends with the block, or with the stream if that outlives the block."""

from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator
from itertools import count
from types import AsyncGeneratorType
from typing import Any, Protocol

from spanhook.engine._ending import StreamEnd
from spanhook.engine._holding import ANSWERED, ENDED
from spanhook.engine._own_results import as_chunks
from spanhook.engine._proxies import AsyncGenerator, AsyncStream, SyncGenerator, SyncStream
from spanhook.engine._streams import Track
from spanhook.engine.lifecycle import returned
from spanhook.errors import OperationError
from spanhook.model import Record


class Handle(Protocol):
    """The object that the author of a block holds."""

    _record: Record
    _is_async: bool
    _left: bool
    _endings: "count[int]"
    _stream_end: "BlockEnd | None"

    def _rest(self) -> None: ...

    async def _arest(self) -> None: ...

    def _decided(self) -> Any: ...

    async def _adecided(self) -> Any: ...


class BlockEnd(StreamEnd):
    """What ends the operation of a block's stream, or leaves that to the block.

    Args:
        track: The stream.
        handle: The object that the block's author holds.
    """

    __slots__ = ("_handle", "_over")

    def __init__(self, track: "BlockTrack", handle: Handle) -> None:
        super().__init__(track, is_async=track.is_async)
        self._handle, self._over = handle, False

    @property
    def is_unfinished(self) -> bool:
        """Whether the stream continues, or was dropped and the reaper has not come to it."""
        track: Any = self._stream()
        return not self._over and (track is None or track.state not in ENDED)

    def release(self, op: Record) -> None:
        super().release(op)
        self._over = True

    def end_without(self, op: Record) -> None:
        """The block has failed, which ends the operation: the stream continues without it."""
        if not next(self.once):
            self._detach(op)

    def dropped(self, turn: int = 0) -> None:
        """The consumer dropped the stream; if the block is still open, the operation ends there."""
        op, handle = self.op, self._handle
        if handle._left:
            if not next(handle._endings):
                super().dropped(turn)
            return
        if op is None or op.ended or next(self.once):
            return
        self.leave(op)
        self._detach(op)
        if handle._left and not next(handle._endings):  # left meanwhile by code that saw it as unfinished
            self.alone(op)

    def _detach(self, op: Record) -> None:
        self.read(op)
        self.release(op)
        track: Any = self._stream()
        if track is not None:
            track.detach()


class BlockTrack(Track):
    """A stream of a block that may still be open when the stream ends.

    Args:
        handle: The object that the block's author holds.
    """

    __slots__ = ("_followed", "_handle")

    def __init__(self, handle: Handle, source: Any, *, is_async: bool) -> None:
        super().__init__(handle._record.adapter, source, is_async=is_async)
        self._handle, self._followed = handle, False
        self.end = handle._stream_end = BlockEnd(self, handle)

    async def _finish(self, op: Record) -> None:
        if self._handle._left:
            if (
                not self.is_async and self._handle._is_async
            ):  # its hooks may have to be awaited, which is impossible here
                self.end.read(op)
                self._handle._rest()
            await super()._finish(op)
            return
        if next(self.end.once):
            return
        if self.state not in ANSWERED:
            self.state = "passing"
        returned(op)
        self.end.read(op)
        if op.stream.buffered:  # the consumer waits for these hooks; all others run when the block is left
            if self.is_async and self._handle._is_async:
                await self._handle._arest()
            else:
                self._handle._rest()
        self._release(op)
        self._followed = True

    def _cut(self, op: Record, error: BaseException) -> None:
        if not self._followed:  # else this is how the stream has ended, and the block is still to end
            super()._cut(op, error)


def hand_over(handle: Handle, chunks: Any) -> Any:
    """What the consumer gets for a block's stream.

    Raises:
        OperationError: It is not a stream.
    """
    is_async = not hasattr(chunks, "__iter__")
    if is_async and not hasattr(chunks, "__aiter__"):
        if isinstance(chunks, Awaitable):
            close_unawaited(chunks)
            raise OperationError("op.stream() was given a coroutine; await it, and pass the stream that it returns")
        raise OperationError(f"op.stream() was given {type(chunks).__name__}, which is not a stream")
    source = aiter(chunks) if is_async else iter(chunks)
    track = BlockTrack(handle, source, is_async=is_async)
    track.adopt(handle._record)
    if is_async:
        proxy = AsyncGenerator if isinstance(source, AsyncGeneratorType) else AsyncStream
    else:
        proxy = SyncGenerator if isinstance(source, Generator) else SyncStream
    return proxy(source, track)


def close_unawaited(awaitable: Any) -> None:
    """Suppress the warning that it was never awaited."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def answered(handle: Handle, *, is_async: bool) -> Any:
    """The chunks of a hook's answer."""
    return _aanswered(handle) if is_async else _answered(handle)


def _answered(handle: Handle) -> Iterator[Any]:
    handle._decided()
    yield from _chunks(handle._record)


async def _aanswered(handle: Handle) -> AsyncIterator[Any]:
    if handle._is_async:
        await handle._adecided()
    else:
        handle._decided()
    for chunk in _chunks(handle._record):
        yield chunk


def _chunks(op: Record) -> Iterable[Any]:
    return as_chunks(op.instance, op.args, op.kwargs, op.decided.answer)
