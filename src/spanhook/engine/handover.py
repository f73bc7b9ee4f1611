"""Which proxy a consumer gets for a stream, and tapping the streams of absorbed calls."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_GENERATOR
from typing import Any

from spanhook.diagnostics import internal
from spanhook.engine._proxies import (
    AsyncBody,
    AsyncGenerator,
    AsyncStream,
    SyncBody,
    SyncGenerator,
    SyncStream,
)
from spanhook.engine._streams import Track
from spanhook.engine._transparent import Transparent
from spanhook.engine.absorption import Absorbed
from spanhook.model import UNREAD, Adapter, Args, Kwargs, LayerCount, Record, shed


class Tapped(Transparent):
    """A stream, or its bytes, in which an absorbed call continues; its chunks are added up as they pass."""

    def __init__(self, wrapped: Any, count: LayerCount, absorbed: Absorbed) -> None:
        super().__init__(wrapped)
        self._self_count, self._self_absorbed = count, absorbed
        self._self_chunks: Any = count.chunks

    def __iter__(self) -> Any:
        return Tapped(iter(self.__wrapped__), self._self_count, self._self_absorbed)

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
        return Tapped(aiter(self.__wrapped__), self._self_count, self._self_absorbed)

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
            self._self_count.failed = True
            self._self_absorbed.failed()

    def _self_passes(self, chunk: Any) -> bool:
        try:
            return self._self_chunks.add(chunk) is not False
        except Exception as error:
            internal.report("extract.chunk", error, lost=1)
            return True

    def __enter__(self) -> Any:
        self.__wrapped__.__enter__()
        return self

    async def __aenter__(self) -> Any:
        await self.__wrapped__.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:  # missing in wrapt 1
        return await self.__wrapped__.__aexit__(*error)


def tap(absorbed: Absorbed, instance: Any, args: Args, kwargs: Kwargs, result: Any) -> Any:
    """The result of an absorbed call: what it reports goes to the enclosing operation, for a stream as its chunks
    pass.
    """
    adapter = absorbed.adapter
    if adapter.nesting.role == "relay" and adapter.layer == absorbed.op.adapter.layer:
        return result  # what it returns is passed on, and read there
    if not stream_sort(adapter, result):
        absorbed.take(result)
        return result
    try:
        streaming = adapter.streaming or UNREAD
        body = None if streaming.body is None else streaming.body(instance, args, kwargs, result)
        if body is not None:
            chunks = body.chunks
        elif streaming.chunks is not None:
            chunks = streaming.chunks(instance, args, kwargs)
        else:
            absorbed.take(result)
            return result
    except Exception as error:
        internal.report("extract.chunks", error, lost=1)
        return result
    count = LayerCount(adapter.layer, adapter.reading.source, None, chunks)
    if not absorbed.count(count):
        return result
    if body is None:
        return Tapped(result, count, absorbed)
    body.put(Tapped(body.stream, count, absorbed))
    return result


def lazy(
    adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs, *, is_async: bool
) -> Any:
    """Call a generator function as an operation that starts at the first step."""
    if not _is_generator_function(wrapped):
        wrapped = partial(_adeferred if is_async else _deferred, wrapped)
    source = wrapped(*args, **kwargs)
    track = Track(adapter, source, is_async=is_async)
    track.lazy(wrapped, instance, args, kwargs)
    return AsyncGenerator(source, track) if is_async else SyncGenerator(source, track)


def handed_out(adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """Call a function as an operation that starts at the first step of the stream in what it returns at once."""
    assert adapter.streaming is not None
    assert adapter.streaming.hands_out is not None
    hands_out = adapter.streaming.hands_out(wrapped, instance, args, kwargs)
    return hands_out.around(lazy(adapter, hands_out.steps, instance, args, kwargs, is_async=True))


_GENERATORS = CO_GENERATOR | CO_ASYNC_GENERATOR


def _is_generator_function(function: Any) -> bool:
    """Whether calling ``function``, or a method, does not run its code yet."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _GENERATORS)


def _deferred(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
    """The stream of a plain function that returns one and may already request it: called at the first step."""
    source: Generator[Any, Any, Any] = make(*args, **kwargs)
    return (yield from source)


async def _adeferred(make: Callable[..., Any], *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
    made = source = make(*args, **kwargs)
    if isinstance(made, Awaitable):
        source = await source
    try:
        async for chunk in source:
            yield chunk
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def stream_sort(adapter: Adapter, result: Any) -> str:
    """``"sync"`` or ``"async"`` if ``result`` is a stream, else empty."""
    try:
        read = None if adapter.streaming is None else adapter.streaming.stream_of
        return "" if read is None else read(result)
    except Exception as error:
        internal.report("extract.stream_of", error)
        return ""


def hand_over(op: Record, result: Any) -> Any:
    """A stream that continues ``op``, if ``result`` is a stream; else ``None``."""
    handed = tracked(op, result)
    return None if handed is None else handed[1]


def tracked(op: Record, result: Any) -> tuple[Track, Any] | None:
    """The track of a stream that continues ``op``, and what its consumer gets, if ``result`` is a stream."""
    sort = stream_sort(op.adapter, result)
    if not sort:
        return None
    read = None if op.adapter.streaming is None else op.adapter.streaming.body
    if read is not None:
        try:
            body = read(op.instance, op.args, op.kwargs, result)
        except Exception as error:
            internal.report("extract.body", error)
            return None
        if body is not None:
            track = Track(op.adapter, body.stream, is_async=sort == "async")
            track.adopt(op, body)
            body.put(AsyncBody(body.stream, track) if track.is_async else SyncBody(body.stream, track))
            return track, result
    track = Track(op.adapter, result, is_async=sort == "async")
    track.adopt(op)
    return track, AsyncStream(result, track) if track.is_async else SyncStream(result, track)
