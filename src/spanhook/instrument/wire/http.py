"""HTTP responses of ``httpx`` and of libraries like it: those that are read later, and those that no server gave."""

import datetime as dt
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from spanhook.instrument.wire.body import BodyChunks
from spanhook.instrument.wire.content import Content, Event, Payload, Told
from spanhook.instrument.wire.framing import LINES, SERVER_SENT, Form, Frames, FrameTexts
from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.unstreamed import Construct
from spanhook.model import Chunks, Framing, Texts

_FORMS = {"text/event-stream": SERVER_SENT, "application/x-ndjson": LINES, "application/stream+json": LINES}
_PLAIN = ("", "identity")
_WINDOW_BITS = {"gzip": 31, "deflate": 15}
"""Content encodings that can be read and written in pieces."""


class HttpContent(Content):
    """The unread body of a response.

    Args:
        response: The response.
        streamed: Whether a stream of events was requested.
        form: The form of its events, if its media type does not say it.
    """

    def __init__(self, response: Any, *, streamed: bool, form: Form | None = None) -> None:
        headers = response.headers
        self._response, self._streamed = response, streamed
        self._encoding = headers.get("content-encoding", "")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        self._form = _FORMS.get(kind) if form is None else form
        self.stream = response.stream

    def put(self, stream: Any) -> None:
        self._response.stream = stream

    def adder(self, chunks: Chunks, response: Callable[[Fields], Told], construct: Construct) -> Chunks:
        reader = None if self._streamed else response
        return BodyChunks(self._response, construct, chunks, reader, self._form or SERVER_SENT)

    def written(self, payload: Payload, events: Iterable[Event], last: str) -> Iterable[bytes]:
        if self._streamed:
            return _encoded(as_bytes(events, last, self._form or SERVER_SENT), self._encoding)
        return _encoded((json.dumps(payload).encode(),), self._encoding)

    def texts_of(self, texts: Texts, last: str) -> Texts | None:
        if not self._streamed or self._form is None or self._encoding not in (*_PLAIN, *_WINDOW_BITS):
            return None
        return FrameTexts(texts, self._form, last)

    def framing(self) -> Framing | None:
        form = self._form or SERVER_SENT
        return Plain(form) if self._encoding in _PLAIN else Compressed(form, _WINDOW_BITS[self._encoding])


class Plain:
    """Cuts pieces of a body into events; what goes out of one piece is one piece."""

    def __init__(self, form: Form) -> None:
        self._frames = Frames(form.end)

    def units(self, piece: bytes) -> Sequence[bytes]:
        return self._frames.add(piece)

    def rest(self) -> Sequence[bytes]:
        return [rest] if (rest := self._frames.rest()) else []

    def pieces(self, units: Sequence[bytes], *, last: bool = False) -> Sequence[bytes]:  # noqa: ARG002
        return [b"".join(units)] if units else []


class Compressed(Plain):
    """``Plain`` for a compressed body: what goes out is compressed anew."""

    def __init__(self, form: Form, bits: int) -> None:
        super().__init__(form)
        self._unpack, self._pack = zlib.decompressobj(bits), zlib.compressobj(wbits=bits)

    def units(self, piece: bytes) -> Sequence[bytes]:
        return super().units(self._unpack.decompress(piece))

    def rest(self) -> Sequence[bytes]:
        return [*super().units(self._unpack.flush()), *super().rest()]

    def pieces(self, units: Sequence[bytes], *, last: bool = False) -> Sequence[bytes]:
        packed = self._pack.compress(b"".join(units))
        whole = packed + self._pack.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
        return [whole] if units or last else []


def as_bytes(events: Iterable[Event], last: str, form: Form = SERVER_SENT) -> Iterator[bytes]:
    """Events as they go over the wire."""
    for name, data in events:
        head = f"event: {name}\n" if name and form is SERVER_SENT else ""
        yield head.encode() + form.with_data(b"data: \n\n", json.dumps(data).encode(), "")
    if last:
        yield form.with_data(b"data: \n\n", last.encode(), "")


def _encoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Bytes in the content encoding that a response has already announced.

    Raises:
        TypeError: The encoding cannot be written here.
    """
    whole = b"".join(pieces)
    if encoding == "gzip":
        yield gzip.compress(whole)
    elif encoding == "deflate":
        yield zlib.compress(whole)
    elif encoding in _PLAIN:
        yield whole
    else:
        raise TypeError(f"cannot replace the body of a raw response in encoding {encoding!r}")


def answered(request: Any, content: bytes, kind: str, status: int = 200) -> Any:
    """A response that no server gave, of the library that made the request.

    Args:
        request: The request that it answers.
        content: The body.
        kind: Its media type.
        status: The HTTP status.
    """
    library = sys.modules[type(request).__module__.partition(".")[0]]  # httpx, or httpx2
    response = library.Response(status, headers={"content-type": kind}, content=content, request=request)
    response.elapsed = dt.timedelta(0)
    return response


def answered_with(
    request: Any, payload: Payload, events: Iterable[Event], last: str, *, streamed: bool, form: Form = SERVER_SENT
) -> Any:
    """A response with an answer; arguments as for ``Transport.deliver``."""
    if streamed:
        kind = next(name for name, one in _FORMS.items() if one is form)
        return answered(request, b"".join(as_bytes(events, last, form)), kind)
    return answered(request, json.dumps(payload).encode(), "application/json")
