"""Streams of events and bodies of responses: as they are held while an operation continues in them, and those that no
server has sent.
"""

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import wrapt
from botocore.eventstream import EventStream
from botocore.response import StreamingBody

from spanhook.copies import Copied

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # wrapt 1 is not generic


class HeldEvents(Copied, ObjectProxy):
    """A stream of events whose iterators all continue the same one and keep the stream alive, like those of botocore's.

    Args:
        stream: The tracked stream.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._self_steps: Any = None

    def __iter__(self) -> Iterator[Any]:
        if self._self_steps is None:
            self._self_steps = iter(self.__wrapped__)
        for event in self._self_steps:  # noqa: UP028 - which would close the stream with its iterator
            yield event


class Given(EventStream):
    """A stream of events that a hook has given."""

    def __init__(self, events: Iterable[Any]) -> None:
        self._given = iter(events)

    def __iter__(self) -> Any:
        for event in self._given:  # noqa: UP028 - as above
            yield event

    def close(self) -> None:
        self._given = iter(())


class GivenBody(StreamingBody):
    """A body that a hook has given.

    Attributes:
        told: Its JSON.
    """

    def __init__(self, content: bytes, told: Any) -> None:
        super().__init__(io.BytesIO(content), len(content))
        self.told = told


class Pieces:
    """The body of a response as a stream of pieces, as large as its holder asks for.

    Args:
        body: The body. It reports broken connections as its holder expects.

    Attributes:
        size: The size of the next piece in bytes; ``None`` for all that is left.
    """

    def __init__(self, body: Any) -> None:
        self._body = body
        self.size: int | None = None

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._body.read(self.size):
            yield piece

    def close(self) -> None:
        self._body.close()


class Buffer:
    """Bytes that have arrived and not been read."""

    __slots__ = ("_content", "_start")

    def __init__(self) -> None:
        self._content = bytearray()
        self._start = 0

    def __len__(self) -> int:
        return len(self._content) - self._start

    def add(self, piece: bytes) -> None:
        if self._start == len(self._content):
            self._content, self._start = bytearray(), 0
        self._content += piece

    def take(self, amount: int | None) -> bytes:
        """The next bytes; all of them if there is no amount."""
        end = len(self._content) if amount is None else self._start + amount
        taken = bytes(memoryview(self._content)[self._start : end])
        self._start += len(taken)
        return taken


class Reader:
    """A tracked body in place of the HTTP response that a ``StreamingBody`` reads.

    Args:
        stream: The tracked body.
        pieces: The body itself.
        raw: The HTTP response, whose other attributes it has.
    """

    def __init__(self, stream: Any, pieces: Pieces, raw: Any) -> None:
        self._stream, self._pieces, self._raw = stream, pieces, raw
        self._steps: Iterator[bytes] | None = None
        self._left, self._told = Buffer(), 0

    def read(self, amt: int | None = None, *_args: Any, **_kwargs: Any) -> bytes:
        if amt is not None and amt < 0:
            amt = None
        if self._steps is None:
            self._steps = iter(self._stream)
        while amt is None or len(self._left) < amt:
            self._pieces.size = amt
            piece = next(self._steps, None)
            if piece is None:
                break
            self._left.add(piece)
        given = self._left.take(amt)
        self._told += len(given)
        return given

    read1 = read

    def readinto(self, b: Any) -> int:
        given = self.read(len(b))
        b[: len(given)] = given
        return len(given)

    def readlines(self, hint: int = -1) -> list[bytes]:
        return io.BytesIO(self.read()).readlines(hint)

    def stream(self, amt: int = 2**16, *_args: Any, **_kwargs: Any) -> Iterator[bytes]:
        while piece := self.read(amt):
            yield piece

    read_chunked = stream

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readlines())

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._told

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "_raw":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._raw, name)
