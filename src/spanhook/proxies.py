"""Which proxy a consumer is handed for a stream, and overhearing the streams of calls that are none of their own."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from typing import Any

from spanhook.absorption import Absorbed
from spanhook.errors import internal
from spanhook.finishing import Run
from spanhook.lifecycle import opens
from spanhook.record import Record
from spanhook.shape import Args, Chunks, Kwargs, Shape
from spanhook.streams import Track
from spanhook.tracebacks import shed
from spanhook.tracked import AsyncBody, AsyncGenerator, AsyncStream, SyncBody, SyncGenerator, SyncStream, Transparent


class Overheard(Transparent):
    """A stream, or the bytes of one, in which an absorbed call goes on; its chunks are added up as they pass."""

    def __init__(self, wrapped: Any, chunks: Chunks, absorbed: Absorbed) -> None:
        super().__init__(wrapped)
        self._self_chunks, self._self_absorbed = chunks, absorbed

    def __iter__(self) -> Any:
        return Overheard(iter(self.__wrapped__), self._self_chunks, self._self_absorbed)

    def __next__(self) -> Any:
        try:
            while not self._self_passes(chunk := self.__wrapped__.__next__()):
                pass
        except BaseException as error:
            self._self_stopped(error)
            shed(error)
            raise
        return chunk

    def __aiter__(self) -> Any:
        return Overheard(aiter(self.__wrapped__), self._self_chunks, self._self_absorbed)

    async def __anext__(self) -> Any:
        try:
            while not self._self_passes(chunk := await self.__wrapped__.__anext__()):
                pass
        except BaseException as error:
            self._self_stopped(error)
            shed(error)
            raise
        return chunk

    def _self_stopped(self, error: BaseException) -> None:
        if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
            self._self_absorbed.failed()

    def _self_passes(self, chunk: Any) -> bool:
        try:
            return self._self_chunks.add(chunk)
        except Exception as error:
            internal.report("extract.chunk", error, lost=1)
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
        internal.report("extract.chunks", error, lost=1)
        return result
    absorbed.op.__dict__.setdefault("overheard", []).append(chunks)
    if body is None:
        return Overheard(result, chunks, absorbed)
    body.put(Overheard(body.stream, chunks, absorbed))
    return result


def lazy(
    shape: Shape, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs, *, is_async: bool
) -> Any:
    """Call a generator function as an operation that starts at the first step."""
    if shape.opening_of and opens(shape, instance):
        return wrapped(*args, **kwargs)
    if not _is_generator_function(wrapped):
        wrapped = partial(_adeferred if is_async else _deferred, wrapped)
    source = wrapped(*args, **kwargs)
    track = Track(shape, source, is_async=is_async)
    track.lazy(wrapped, instance, args, kwargs)
    return AsyncGenerator(source, track) if is_async else SyncGenerator(source, track)


_GENERATORS = CO_GENERATOR | CO_ASYNC_GENERATOR


def _is_generator_function(function: Any) -> bool:
    """Whether a call of ``function``, or of a method, runs none of its code yet."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _GENERATORS)


def _deferred(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
    """The stream of a plain function that returns one, and may have asked for it by then: called at the first step."""
    return (yield from make(*args, **kwargs))


async def _adeferred(make: Callable[..., Any], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
    made = make(*args, **kwargs)
    source = await made if isinstance(made, Awaitable) else made
    try:
        async for chunk in source:
            yield chunk
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def stream_sort(shape: Shape, result: Any) -> str:
    """``"sync"`` or ``"async"`` if ``result`` is a stream, else empty."""
    try:
        return shape.stream_of(result) if shape.stream_of is not None else ""
    except Exception as error:
        internal.report("extract.stream_of", error)
        return ""


def hand_over(op: Record, run: Run | None, result: Any) -> Any:
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
