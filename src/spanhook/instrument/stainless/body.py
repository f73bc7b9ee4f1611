"""The body of a raw response that the application reads later: its bytes are added up as they pass."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from spanhook.instrument.stainless.sdk import Sdk
from spanhook.model import Attributes, Chunks, Usage

Reader = Callable[[Any], tuple[Attributes, Usage | None]]


class BodyChunks:
    """Adds up the bytes of a body, and parses them on request.

    Args:
        sdk: The client's package.
        response: The HTTP response.
        model: The class that the body is parsed into, if it is not a stream.
        chunks: Adds up the events of a stream.
        reader: Reads a body that is not a stream; ``None`` for a stream.
    """

    __slots__ = ("_chunks", "_headers", "_kind", "_model", "_pieces", "_read", "_reader", "_sdk", "keep")

    def __init__(self, sdk: Sdk, response: Any, model: Any, chunks: Chunks, reader: Reader | None) -> None:
        # Not the response itself: it refers to the byte stream, which will refer to this.
        self._kind, self._headers = type(response), response.headers
        self._sdk, self._model, self._chunks, self._reader = sdk, model, chunks, reader
        self._pieces: list[bytes] = []
        self._read = 0
        self.keep = False

    @property
    def complete(self) -> bool:
        return self._added_up().complete if self._reader is None else self._json() is not None

    def add(self, chunk: bytes) -> bool:
        self._pieces.append(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        if self._reader is None:
            return self._added_up().response()
        whole = self._json()
        return self._chunks.response() if whole is None else self._reader(whole)

    def result(self) -> Any:
        if self._reader is None:
            return self._added_up().result()
        whole = self._json()
        if whole is None or not issubclass(self._model, self._sdk.model):
            return whole
        return self._sdk.construct(type_=self._model, value=whole)

    def _added_up(self) -> Chunks:
        """The adder, after adding every complete event."""
        self._chunks.keep = self.keep
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
        try:
            return self._kind(200, headers=self._headers, content=b"".join(self._pieces)).content
        except Exception:
            return b""  # cut off in the middle of compressed data


def events_of(content: bytes) -> Iterator[dict[str, Any]]:
    """The data of every complete server-sent event, if it is JSON."""
    for event in content.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:")]
        try:
            data = json.loads(b"\n".join(lines))
        except ValueError:
            continue
        if isinstance(data, dict):
            yield data
