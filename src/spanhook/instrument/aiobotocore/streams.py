"""Streams of events and bodies of responses that are read with ``await``: as they are held while an operation continues
in them, and those that no server has sent.
"""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, Any, Self

import wrapt
from aiobotocore.eventstream import AioEventStream

from spanhook.copies import Copied
from spanhook.instrument.botocore.streams import Buffer

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # wrapt 1 is not generic


class AsyncEvents:
    """A stream of events that can be closed with ``await``.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __aiter__(self) -> AsyncIterator[Any]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        self._stream.close()


class HeldEvents(Copied, ObjectProxy):
    """A stream of events whose iterators all continue the same one, and keep the stream alive.

    Args:
        stream: The stream.
        tracked: The same, tracked.
    """

    def __init__(self, stream: Any, tracked: Any) -> None:
        super().__init__(stream)
        self._self_tracked, self._self_steps = tracked, None

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self._self_steps is None and self._self_tracked is not None:
            self._self_steps = aiter(self._self_tracked)
        if self._self_steps is not None:
            async for event in self._self_steps:
                yield event

    def close(self) -> None:
        """Close the stream; its operation ends once it is dropped."""
        self._self_tracked = self._self_steps = None
        self.__wrapped__.close()


class Given(AioEventStream):
    """A stream of events that a hook has given."""

    def __init__(self, events: Iterable[Any]) -> None:
        self._given = iter(events)

    async def __aiter__(self) -> Any:
        for event in self._given:
            yield event

    def close(self) -> None:
        self._given = iter(())


class AsyncPieces:
    """The body of a response as a stream of pieces, as large as its holder asks for.

    Args:
        body: The body. It reports broken connections as its holder expects.

    Attributes:
        size: The size of the next piece in bytes; ``None`` for all that is left.
    """

    def __init__(self, body: Any) -> None:
        self._body = body
        self.size: int | None = None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._body.read(self.size):
            yield piece

    async def aclose(self) -> None:
        closed = self._body.close()
        if hasattr(closed, "__await__"):  # over httpx
            await closed


class AsyncReader:
    """A tracked body in place of the HTTP response that a ``StreamingBody`` reads, of aiohttp or httpx.

    Args:
        stream: The tracked body.
        pieces: The body itself.
        raw: The HTTP response, whose other attributes it has.

    Attributes:
        content: What is read, as aiohttp has it.
        told: The JSON of a body that a hook has given.
    """

    told: Any = None

    def __init__(self, stream: Any, pieces: AsyncPieces, raw: Any) -> None:
        self._stream: Any = stream
        self._pieces, self._raw = pieces, raw
        self._steps: Any = None
        self._left = Buffer()
        self._ended = False
        self.content = self

    async def read(self, n: int | None = -1) -> bytes:
        amount = None if n is None or n < 0 else n
        if self._steps is None:
            self._steps = aiter(self._stream)
        while not self._ended and (amount is None or len(self._left) < amount):
            self._pieces.size = amount
            piece = await anext(self._steps, None)
            if piece is None:
                self._ended = True
            else:
                self._left.add(piece)
        return self._left.take(amount)

    async def readany(self) -> bytes:
        return await self.read(2**16)

    def at_eof(self) -> bool:
        return self._ended and not self._left

    async def aiter_raw(self) -> AsyncIterator[bytes]:
        while piece := await self.readany():
            yield piece

    async def iter_chunked(self, n: int) -> AsyncIterator[bytes]:
        while piece := await self.read(n):
            yield piece

    def close(self) -> None:
        """Close the response; the operation ends once the body is dropped."""
        self._stream, self._steps, self._ended = None, None, True
        self._raw.close()

    async def aclose(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.aclose()

    def __getattr__(self, name: str) -> Any:
        if name == "_raw":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._raw, name)


class _Memory:
    """Bytes as a body that is read once."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def read(self, _size: int | None) -> bytes:
        given, self._content = self._content, b""
        return given

    def close(self) -> None:
        self._content = b""


def in_memory(content: bytes, told: Any) -> AsyncReader:
    """A response with a body that a hook has given, and its JSON."""
    memory = _Memory(content)
    pieces = AsyncPieces(memory)
    reader = AsyncReader(pieces, pieces, memory)
    reader.told = told
    return reader
