"""Adds up the bytes of a body that the application reads later, as they pass."""

import json
from collections.abc import Callable
from typing import Any

from spanhook.instrument.wire.framing import Form, Frames, json_in
from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.unstreamed import Construct
from spanhook.model import Attributes, Chunks, Usage

Reader = Callable[[Fields], tuple[Attributes, Usage | None]]


def _kind(kind: type) -> Any:
    """The HTTP library's own class of a response, of which SDKs may have subclasses that are made otherwise."""
    return next((one for one in kind.__mro__ if one.__name__ == "Response"), kind)


class BodyChunks:
    """Keeps the bytes of a body, and parses them on request.

    Args:
        response: The HTTP response.
        construct: Creates the result from the JSON of a body that is not a stream.
        chunks: Adds up the events of a stream.
        reader: Reads a body that is not a stream; ``None`` for a stream.
        form: The form of the events.
    """

    __slots__ = ("_chunks", "_construct", "_form", "_headers", "_kind", "_pieces", "_read", "_reader", "keep")

    def __init__(self, response: Any, construct: Construct, chunks: Chunks, reader: Reader | None, form: Form) -> None:
        # Not the response itself: it refers to the byte stream, which will refer to this.
        self._kind, self._headers = _kind(type(response)), response.headers
        self._construct, self._chunks, self._reader, self._form = construct, chunks, reader, form
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
        return None if whole is None else self._construct(whole)

    def _added_up(self) -> Chunks:
        """The adder, after adding every event that can be read."""
        self._chunks.keep = self.keep
        frames = Frames(self._form.end)
        found = frames.add(self._decoded())
        for frame in found[self._read :]:
            self._add(frame)
        if self._read <= len(found):
            self._read = len(found) + self._add(frames.rest())
        return self._chunks

    def _add(self, frame: bytes) -> bool:
        """Add an event, if it can be read."""
        try:
            told = json_in(self._form.data_in(frame))
        except TypeError:
            return False
        return told is not None and (self._chunks.add(told) or True)

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
