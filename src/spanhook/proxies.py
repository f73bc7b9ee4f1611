"""What a consumer of a stream is handed: proxies that behave as the library's own object, one class per shape.

Copying and pickling give the wrapped object.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import wrapt

from spanhook.driving import drive
from spanhook.errors import internal
from spanhook.finishing import Run
from spanhook.lifecycle import Absorbed
from spanhook.operation import Operation
from spanhook.shape import Args, Chunks, Kwargs, Shape
from spanhook.streams import END, Track


class Transparent(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A proxy whose copies are the wrapped object."""

    def __copy__(self) -> Any:
        return self.__wrapped__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__wrapped__

    def __reduce__(self) -> Any:
        return self.__wrapped__.__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)


class Tracked(Transparent):
    """Something that belongs to a stream, and the stream's track."""

    def __init__(self, wrapped: Any, track: Track) -> None:
        super().__init__(wrapped)
        self._self_track = track


class Proxy(Tracked):
    """What a consumer holds: dropped unfinished, it ends the operation."""

    def __del__(self) -> None:
        try:
            track = self._self_track
        except AttributeError:  # left half made
            return
        track.let_go()


class SyncIterator(Proxy):
    """A stream that is iterated."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        track = self._self_track
        if track.plain:
            return track.source.__next__()
        chunk = track.take()
        if chunk is END:
            raise StopIteration(track.value)
        return chunk


class SyncGenerator(SyncIterator):
    """A generator."""

    def send(self, value: Any) -> Any:
        return self._self_step("send", value)

    def throw(self, *error: Any) -> Any:
        return self._self_step("throw", *error)

    def close(self) -> Any:
        return drive(self._self_track.close("close"))

    def _self_step(self, method: str, *args: Any) -> Any:
        chunk = drive(self._self_track.step(method, *args))
        if chunk is END:
            raise StopIteration(self._self_track.value)
        return chunk


class SyncStream(SyncIterator):
    """A stream object that is also a context manager."""

    _self_response: Any = None

    @property
    def response(self) -> Any:
        """The HTTP response it is read from, by which helpers of SDKs close it."""
        if self._self_response is None:
            self._self_response = SyncResponse(self.__wrapped__.response, self._self_track)
        return self._self_response

    def __enter__(self) -> Any:
        self.__wrapped__.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return drive(self._self_track.close("__exit__", kind, error, trace))

    def close(self) -> Any:
        return drive(self._self_track.close("close"))


class AsyncIterator(Proxy):
    """A stream that is iterated with ``async for``."""

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        chunk = await self._self_track.step("__anext__")
        if chunk is END:
            raise StopAsyncIteration
        return chunk

    async def _self_step(self, method: str, *args: Any) -> Any:
        track = self._self_track
        chunk = await track.step(method, *args)
        if chunk is END:
            raise StopAsyncIteration
        return chunk


class AsyncGenerator(AsyncIterator):
    """An async generator."""

    async def asend(self, value: Any) -> Any:
        return await self._self_step("asend", value)

    async def athrow(self, *error: Any) -> Any:
        return await self._self_step("athrow", *error)

    async def aclose(self) -> Any:
        return await self._self_track.close("aclose")


class AsyncStream(AsyncIterator):
    """An async stream object that is also a context manager."""

    _self_response: Any = None

    @property
    def response(self) -> Any:
        """The HTTP response it is read from, by which helpers of SDKs close it."""
        if self._self_response is None:
            self._self_response = AsyncResponse(self.__wrapped__.response, self._self_track)
        return self._self_response

    async def __aenter__(self) -> Any:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._self_track.close("__aexit__", kind, error, trace)

    async def close(self) -> Any:
        return await self._self_track.close("close")

    async def aclose(self) -> Any:
        return await self._self_track.close("close")


class SyncResponse(Tracked):
    """The HTTP response of a stream: closing it closes the stream."""

    def close(self) -> Any:
        return drive(self._self_track.close("close", of=self.__wrapped__))


class AsyncResponse(Tracked):
    """The HTTP response of an async stream: closing it closes the stream."""

    async def aclose(self) -> Any:
        return await self._self_track.close("aclose", of=self.__wrapped__)


class SyncBody(Proxy):
    """The bytes of a result that is read later, whoever reads them."""

    def __iter__(self) -> Any:
        steps = iter(self.__wrapped__)
        return SyncIterator(steps, self._self_track) if self._self_track.begins(self.__wrapped__, steps) else steps

    def close(self) -> Any:
        return drive(self._self_track.close("close", of=self.__wrapped__))


class AsyncBody(Proxy):
    """The bytes of a result that is read later, with ``async for``."""

    def __aiter__(self) -> Any:
        steps = aiter(self.__wrapped__)
        return AsyncIterator(steps, self._self_track) if self._self_track.begins(self.__wrapped__, steps) else steps

    async def aclose(self) -> Any:
        return await self._self_track.close("aclose", of=self.__wrapped__)


class Overheard(Transparent):
    """A stream, or the bytes of one, in which an absorbed call goes on; its chunks are added up as they pass."""

    def __init__(self, wrapped: Any, chunks: Chunks) -> None:
        super().__init__(wrapped)
        self._self_chunks = chunks

    def __iter__(self) -> Any:
        return Overheard(iter(self.__wrapped__), self._self_chunks)

    def __next__(self) -> Any:
        while not self._self_passes(chunk := self.__wrapped__.__next__()):
            pass
        return chunk

    def __aiter__(self) -> Any:
        return Overheard(aiter(self.__wrapped__), self._self_chunks)

    async def __anext__(self) -> Any:
        while not self._self_passes(chunk := await self.__wrapped__.__anext__()):
            pass
        return chunk

    def _self_passes(self, chunk: Any) -> bool:
        try:
            return self._self_chunks.add(chunk)
        except Exception as error:
            internal.report("extract.chunk", error)
            return True

    def __enter__(self) -> Any:
        self.__wrapped__.__enter__()
        return self

    async def __aenter__(self) -> Any:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:  # wrapt 1 has none
        return await self.__wrapped__.__aexit__(*error)


def overhear(absorbed: Absorbed, instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Any:
    """The result of an absorbed call: what it tells goes to the operation around, from a stream as it passes."""
    shape = absorbed.shape
    if not stream_sort(shape, result) or shape.chunks is None:
        absorbed.take(result)
        return result
    try:
        body = shape.body(instance, args, kwargs, result) if shape.body is not None else None
        chunks = body.chunks if body is not None else shape.chunks(instance, args, kwargs)
    except Exception as error:
        internal.report("extract.chunks", error)
        return result
    absorbed.op.__dict__.setdefault("overheard", []).append(chunks)
    if body is None:
        return Overheard(result, chunks)
    body.put(Overheard(body.stream, chunks))
    return result


def lazy(
    shape: Shape, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs, *, is_async: bool
) -> Any:
    """Call a generator function as an operation that starts at the first step."""
    source = wrapped(*args, **kwargs)
    track = Track(shape, source, is_async=is_async)
    track.lazy(wrapped, instance, args, kwargs)
    return AsyncGenerator(source, track) if is_async else SyncGenerator(source, track)


def stream_sort(shape: Shape, result: Any) -> str:
    """``"sync"`` or ``"async"`` if ``result`` is a stream, else empty."""
    try:
        return shape.stream_of(result) if shape.stream_of is not None else ""
    except Exception as error:
        internal.report("extract.stream_of", error)
        return ""


def hand_over(op: Operation, run: Run | None, result: Any) -> Any:
    """A stream that goes on with ``op``, if ``result`` is one; else ``None``."""
    sort = stream_sort(op.shape, result)
    if not sort:
        return None
    if op.shape.body is not None:
        try:
            body = op.shape.body(op.instance, op.args, op.kwargs, result)
        except Exception as error:
            internal.report("extract.body", error)
            return None
        if body is not None:
            track = Track(op.shape, body.stream, is_async=sort == "async")
            track.adopt(op, run, body)
            body.put(AsyncBody(body.stream, track) if track.is_async else SyncBody(body.stream, track))
            return result
    track = Track(op.shape, result, is_async=sort == "async")
    track.adopt(op, run)
    return AsyncStream(result, track) if track.is_async else SyncStream(result, track)
