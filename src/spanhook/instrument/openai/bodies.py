"""Raw responses whose body the application reads later: its bytes are added up as they pass."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from openai._base_client import AsyncAPIClient
from openai._streaming import AsyncStream, Stream

from spanhook.instrument.openai.delivery import encode
from spanhook.instrument.openai.options import is_streamed
from spanhook.instrument.openai.reading import RAW
from spanhook.shape import Args, Attributes, Body, Chunks, Kwargs
from spanhook.usage import Usage

Reader = Callable[[Any], tuple[Attributes, Usage | None]]


def stream_of(result: Any) -> str:
    """Whether a result is a stream, or a raw response that is still to be read."""
    if isinstance(result, Stream):
        return "sync"
    if isinstance(result, AsyncStream):
        return "async"
    if isinstance(result, RAW) and not result.http_response.is_closed:
        return "async" if isinstance(result._client, AsyncAPIClient) else "sync"
    return ""


class BodyChunks:
    """Adds up the bytes of a body, and reads them when asked what they say.

    Args:
        response: The HTTP response.
        streamed: Whether the body is a stream of events.
        chunks: Adds up the events; a body that is none is one event.
        reader: Reads a body that is no stream.
    """

    __slots__ = ("_chunks", "_headers", "_kind", "_pieces", "_read", "_reader", "_streamed", "keep")

    def __init__(self, response: Any, streamed: bool, chunks: Chunks, reader: Reader) -> None:
        # Not the response itself: it holds the body, which holds this.
        self._kind, self._headers = type(response), response.headers
        self._streamed, self._chunks, self._reader = streamed, chunks, reader
        self._pieces: list[bytes] = []
        self._read = 0
        self.keep = False

    @property
    def complete(self) -> bool:
        return self._streamed and self._events().complete

    def add(self, chunk: bytes) -> bool:
        self._pieces.append(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        whole = None if self._streamed else self._json()
        return self._events().response() if whole is None else self._reader(whole)

    def result(self) -> Any:
        return self._events().result() if self._streamed else self._json()

    def _events(self) -> Chunks:
        """The adder, told of the events that have come whole."""
        self._chunks.keep = self.keep
        if self._streamed:
            events = list(events_of(self._decoded()))
            for event in events[self._read :]:
                self._chunks.add(event)
            self._read = len(events)
        return self._chunks

    def _json(self) -> dict[str, Any] | None:
        try:
            read = json.loads(self._decoded())
        except ValueError:
            return None
        return read if isinstance(read, dict) else None

    def _decoded(self) -> bytes:
        return self._kind(200, headers=self._headers, content=b"".join(self._pieces)).content


def events_of(content: bytes) -> Iterator[dict[str, Any]]:
    """The data of every server-sent event that came whole, where it is JSON."""
    for event in content.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        try:
            data = json.loads(b"\n".join(lines))
        except ValueError:
            continue
        if isinstance(data, dict):
            yield data
