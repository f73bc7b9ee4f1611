"""Streams of events and bodies of responses: as they are held while an operation continues in them, and those that no
server has sent.
"""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import wrapt
from botocore.eventstream import EventStream
from botocore.response import StreamingBody


class HeldEvents(wrapt.ObjectProxy):
    """A stream of events whose iterators all continue the same one, and keep the stream alive, as those of botocore's do.

    Args:
        stream: The tracked stream.
    """

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._self_steps: Any = None

    def __iter__(self) -> Iterator[Any]:
        if self._self_steps is None:
            self._self_steps = iter(self.__wrapped__)
        for event in self._self_steps:  # not `yield from`, which would close the stream with its iterator
            yield event


class Given(EventStream):
    """A stream of events that a hook has given."""

    def __init__(self, events: Iterable[Any]) -> None:
        self._given = iter(events)

    def __iter__(self) -> Iterator[Any]:
        for event in self._given:
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


class Whole:
    """The body of a response as one piece: it is JSON, which cannot be read in part.

    Args:
        body: The body. It reports broken connections as its holder expects.
    """

    def __init__(self, body: Any) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        content = self._body.read()
        if content:
            yield content

    def close(self) -> None:
        self._body.close()


class Reader:
    """A tracked body in place of the HTTP response that a ``StreamingBody`` reads.

    Args:
        stream: The tracked body.
        raw: The HTTP response, whose other attributes it has.
    """

    def __init__(self, stream: Any, raw: Any) -> None:
        self._stream, self._raw = stream, raw
        self._held: io.BytesIO | None = None

    def _file(self) -> io.BytesIO:
        if self._held is None:
            self._held = io.BytesIO(b"".join(self._stream))
        return self._held

    def read(self, amt: int | None = None, *_args: Any, **_kwargs: Any) -> bytes:
        return self._file().read(amt)

    read1 = read

    def readinto(self, b: Any) -> int:
        return self._file().readinto(b)

    def readline(self, size: int | None = -1) -> bytes:
        return self._file().readline(size)

    def readlines(self, hint: int = -1) -> list[bytes]:
        return self._file().readlines(hint)

    def stream(self, amt: int = 2**16, *_args: Any, **_kwargs: Any) -> Iterator[bytes]:
        while piece := self.read(amt):
            yield piece

    read_chunked = stream

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._file())

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0 if self._held is None else self._held.tell()

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)
