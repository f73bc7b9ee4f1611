"""Complete events in a stream of bytes: server-sent events, and JSON in lines."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from spanhook.model import ChunkText, Leaf, Route, Texts

_MARK = b"\xef\xbb\xbf"
"""A byte order mark, which may precede the first event."""


class Frames:
    """Cuts bytes into complete events, however they arrive.

    Args:
        end: What ends an event.
    """

    __slots__ = ("_end", "_left")

    def __init__(self, end: "re.Pattern[bytes]") -> None:
        self._end = end
        self._left = bytearray()

    def add(self, piece: bytes) -> list[bytes]:
        """The events that are complete now, with their ends."""
        before, whole, start, found = len(self._left), piece, 0, list[bytes]()
        if before:  # joined in place: an event may be as long as a picture
            self._left += piece
            whole = self._left
        for end in self._end.finditer(whole, max(0, before - 3)):
            found.append(bytes(whole[start : end.end()]))
            start = end.end()
        if start < len(whole):
            if start or not before:
                self._left = bytearray(whole[start:])
        elif before:
            self._left = bytearray()
        return found

    def rest(self) -> bytes:
        """What has arrived of an event that is not complete."""
        left, self._left = bytes(self._left), bytearray()
        return left


class Form(ABC):
    """A form of events in bytes.

    Attributes:
        end: What ends an event.
    """

    end: "re.Pattern[bytes]"

    @abstractmethod
    def data_in(self, frame: bytes) -> bytes:
        """The data of an event; empty if it has none.

        Raises:
            TypeError: It has another form.
        """

    @abstractmethod
    def with_data(self, frame: bytes, data: bytes, name: str) -> bytes:
        """The event with other data; with another name, unless that is empty and if it has one."""


class _ServerSent(Form):
    end = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
    _others = frozenset((b"", b"event", b"id", b"retry"))  # a comment has no name

    def data_in(self, frame: bytes) -> bytes:
        data: list[bytes] = []
        for line in frame.removeprefix(_MARK).splitlines():
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif line and line.partition(b":")[0] not in self._others:
                raise TypeError("these bytes are no server-sent event")
        return b"\n".join(data)

    def with_data(self, frame: bytes, data: bytes, name: str) -> bytes:
        lines: list[bytes] = []
        for line in frame.splitlines(keepends=True):
            end = line[len(line.rstrip(b"\r\n")) :]
            if line.startswith(b"data:"):
                lines.append(b"data: %s%s" % (data, end))
                data = b""
            elif line.startswith(b"event:") and name:
                lines.append(b"event: %s%s" % (name.encode(), end))
            else:
                lines.append(line)
        made = b"".join(line for line in lines if line.strip() != b"data:")
        return made if made.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")) else made + b"\n\n"


class _Lines(Form):
    end = re.compile(rb"\n")

    def data_in(self, frame: bytes) -> bytes:
        return frame.removeprefix(_MARK).strip()

    def with_data(self, frame: bytes, data: bytes, name: str) -> bytes:  # noqa: ARG002
        return data + b"\n"


SERVER_SENT, LINES = _ServerSent(), _Lines()


def json_in(data: bytes) -> dict[str, Any] | None:
    """The JSON object in an event's data; ``None`` if it is something else."""
    try:
        read = json.loads(data)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


class FrameTexts:
    """The text in complete events.

    Args:
        texts: How it is read in their JSON.
        form: Their form.
        last: Data that is no JSON, and ends the stream.
    """

    def __init__(self, texts: Texts, form: Form, last: str) -> None:
        self._texts, self._form, self._last = texts, form, last.encode()

    def read(self, chunk: bytes) -> ChunkText:
        told = self._told(chunk)
        return ChunkText() if told is None else self._texts.read(told)

    def write(self, chunk: bytes, texts: Mapping[Route, str]) -> bytes:
        told = self._told(chunk)
        if told is None:
            return chunk
        made = self._texts.write(told, texts)
        return chunk if made == told else self._with(chunk, told, made)

    def more(self, chunk: bytes, leaf: Leaf, text: str) -> bytes:
        told = self._told(chunk) or {}
        return self._with(chunk, told, self._texts.more(told, leaf, text))

    def _told(self, frame: bytes) -> dict[str, Any] | None:
        data = self._form.data_in(frame)
        if not data or data == self._last:
            return None
        told = json_in(data)
        if told is None:
            raise TypeError("an event is not a JSON object")
        return told

    def _with(self, frame: bytes, told: dict[str, Any], made: Any) -> bytes:
        """The event with other JSON; if its name was the JSON's type, it still is."""
        kind, before = (one.get("type") or one.get("event_type") for one in (made, told))
        name = kind if isinstance(kind, str) and kind != before else ""
        return self._form.with_data(frame, json.dumps(made).encode(), name)
