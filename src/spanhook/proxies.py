"""Which proxy a consumer is handed for a stream, and overhearing the streams of calls that are none of their own."""

from collections.abc import Callable
from typing import Any

from spanhook.errors import internal
from spanhook.finishing import Run
from spanhook.lifecycle import Absorbed
from spanhook.operation import Operation
from spanhook.shape import Args, Chunks, Kwargs, Shape
from spanhook.streams import Track
from spanhook.tracked import AsyncBody, AsyncGenerator, AsyncStream, SyncBody, SyncGenerator, SyncStream, Transparent


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
