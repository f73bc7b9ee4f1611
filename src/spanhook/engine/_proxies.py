"""Proxies of streams and their parts, one class per shape; they behave like the library's own objects.

Copying and pickling give the wrapped object. What a step does is up to ``streams``.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any
from weakref import ref

from spanhook.concurrency import drive
from spanhook.engine._iterating import chunks, generates
from spanhook.engine._streams import END, Track
from spanhook.engine._transparent import NOTHING, Proxy, Tracked, as_wrapped
from spanhook.model import asheds, shed, sheds


def _nothing() -> None:
    """Stands for a dead weak reference."""


class SyncIterator(Tracked):
    """A stream that is iterated."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        track = self._self_track
        try:
            brief = track.brief
            if brief is not None:
                try:
                    chunk = track.source.__next__()
                    if not brief(chunk):
                        chunk = track.taken(chunk, track.source)
                except BaseException as error:
                    chunk = track.stopped(error)
            elif track.state == "passing":
                return track.source.__next__()
            else:
                chunk = track.take(track.source)
        except BaseException as error:
            track.escapes(error)
            raise
        if chunk is END:
            raise StopIteration(track.value)
        return chunk


class SyncGenerator(SyncIterator, Proxy):
    """A generator."""

    def send(self, value: Any) -> Any:
        return self._self_step("send", value)

    def throw(self, *error: Any) -> Any:
        return self._self_step("throw", *error)

    @sheds
    def close(self) -> Any:
        return drive(self._self_track.close("close"))

    def _self_step(self, method: str, *args: Any) -> Any:
        try:
            chunk = drive(self._self_track.step(method, *args))
        except BaseException as error:
            shed(error)
            raise
        if chunk is END:
            raise StopIteration(self._self_track.value)
        return chunk


class SyncStream(SyncIterator, Proxy):
    """A stream object that is also a context manager."""

    _self_response: Callable[[], Any] = staticmethod(_nothing)

    def __iter__(self) -> Any:
        return chunks(self) if generates(self.__wrapped__) else self

    @property
    def response(self) -> Any:
        """The HTTP response it is read from, through which SDK helpers close it."""
        held = self._self_response()
        if held is None:
            held = SyncResponse(self.__wrapped__.response, self._self_track, self)
            self._self_response = ref(held)
        return held

    def __enter__(self) -> Any:
        self.__wrapped__.__enter__()
        return self

    @sheds
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return drive(self._self_track.close("__exit__", kind, error, trace, of=self.__wrapped__))

    @as_wrapped("close")
    @sheds
    def close(self) -> Any:
        return drive(self._self_track.close("close", of=self.__wrapped__))


class AsyncIterator(Tracked):
    """A stream that is iterated with ``async for``."""

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        track = self._self_track
        try:
            brief = track.brief
            if brief is None:
                chunk = await track.atake()
            else:
                try:
                    chunk = await track.source.__anext__()
                    if not brief(chunk):
                        chunk = await track.ataken(chunk)
                except BaseException as error:
                    chunk = await track.astopped(error)
        except BaseException as error:
            track.escapes(error)
            raise
        if chunk is END:
            raise StopAsyncIteration
        return chunk

    async def _self_step(self, method: str, *args: Any) -> Any:
        track = self._self_track
        try:
            chunk = await track.step(method, *args)
        except BaseException as error:
            shed(error)
            raise
        if chunk is END:
            raise StopAsyncIteration
        return chunk


class AsyncGenerator(AsyncIterator, Proxy):
    """An async generator."""

    async def asend(self, value: Any) -> Any:
        return await self._self_step("asend", value)

    async def athrow(self, *error: Any) -> Any:
        return await self._self_step("athrow", *error)

    @asheds
    async def aclose(self) -> Any:
        return await self._self_track.close("aclose")


class AsyncStream(AsyncIterator, Proxy):
    """An async stream object that is also a context manager."""

    _self_response: Callable[[], Any] = staticmethod(_nothing)

    @property
    def response(self) -> Any:
        """The HTTP response it is read from, through which SDK helpers close it."""
        held = self._self_response()
        if held is None:
            held = AsyncResponse(self.__wrapped__.response, self._self_track, self)
            self._self_response = ref(held)
        return held

    async def __aenter__(self) -> Any:
        await self.__wrapped__.__aenter__()
        return self

    @asheds
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._self_track.close("__aexit__", kind, error, trace, of=self.__wrapped__)

    @as_wrapped("close")
    @asheds
    async def close(self) -> Any:
        return await self._self_track.close("close", of=self.__wrapped__)

    @as_wrapped("aclose", "close")
    @asheds
    async def aclose(self) -> Any:
        method = "aclose" if hasattr(self.__wrapped__, "aclose") else "close"
        return await self._self_track.close(method, of=self.__wrapped__)


class Response(Tracked):
    """The HTTP response of a stream: closing it closes the stream, and reading it reads the stream."""

    def __init__(self, wrapped: Any, track: Track, stream: Any) -> None:
        super().__init__(wrapped, track)
        self._self_stream = stream  # which ends when nothing refers to it any more

    def __getattr__(self, name: str) -> Any:
        if name in _READING:
            track: Track = self._self_track
            body = track.goes_on_in(self.__wrapped__)
            if body is not None:
                body.put((AsyncBody if track.is_async else SyncBody)(body.stream, track))
                self._self_stream._self_owned = NOTHING  # the response's holder may have dropped the stream
        return getattr(self.__wrapped__, name)


_READING = frozenset(
    (
        *("read", "iter_raw", "iter_bytes", "iter_text", "iter_lines"),
        *("aread", "aiter_raw", "aiter_bytes", "aiter_text", "aiter_lines"),
    )
)


class SyncResponse(Response):
    """The response of a stream that is iterated."""

    @sheds
    def close(self) -> Any:
        return drive(self._self_track.close("close", of=self.__wrapped__))


class AsyncResponse(Response):
    """The response of an async stream."""

    @asheds
    async def aclose(self) -> Any:
        return await self._self_track.close("aclose", of=self.__wrapped__)


class SyncBody(Proxy):
    """The bytes of a result that is read later."""

    def __iter__(self) -> Any:
        steps = iter(self.__wrapped__)
        return SyncIterator(steps, self._self_track) if self._self_track.begins(self.__wrapped__, steps) else steps

    @as_wrapped("close")
    @sheds
    def close(self) -> Any:
        return drive(self._self_track.close("close", of=self.__wrapped__))


class AsyncBody(Proxy):
    """The bytes of a result that is read later, with ``async for``."""

    def __aiter__(self) -> Any:
        steps = aiter(self.__wrapped__)
        return AsyncIterator(steps, self._self_track) if self._self_track.begins(self.__wrapped__, steps) else steps

    @as_wrapped("aclose")
    @asheds
    async def aclose(self) -> Any:
        return await self._self_track.close("aclose", of=self.__wrapped__)
