"""What responses hold that is read later: streams of events, and bodies."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.botocore.metering import Metered, metered
from spanhook.instrument.botocore.streams import HeldEvents, Pieces, Reader
from spanhook.instrument.wire import Construct, Content, Event, Fields, OpenedChunks, OpenedTexts, Payload
from spanhook.model import Attributes, Chunks, Texts, Usage

Told = tuple[Attributes, Usage | None]


class Events(Content):
    """The events of Converse.

    Args:
        result: The response.
        name: The member with its stream.
        held: Makes of a tracked stream what the response holds.
    """

    def __init__(self, result: dict[str, Any], name: str, held: Callable[[Any], Any] = HeldEvents) -> None:
        self._result, self._name, self._held = result, name, held
        self.stream = result[name]

    def put(self, stream: Any) -> None:
        self._result[self._name] = self._held(stream)

    def adder(self, chunks: Chunks, response: Callable[[Fields], Told], construct: Construct) -> Chunks:  # noqa: ARG002
        return chunks

    def written(self, payload: Payload, events: Iterable[Event], last: str) -> Iterable[Any]:  # noqa: ARG002
        return [data for _, data in events]

    def texts_of(self, texts: Texts, last: str) -> Texts | None:  # noqa: ARG002
        return texts


class Parts(Events):
    """The events of an invoked model, each of which contains JSON in bytes."""

    def adder(self, chunks: Chunks, response: Callable[[Fields], Told], construct: Construct) -> Chunks:  # noqa: ARG002
        counting: Any = Metered(chunks)
        made: Any = OpenedChunks(counting, opened)
        return made

    def written(self, payload: Payload, events: Iterable[Event], last: str) -> Iterable[Any]:  # noqa: ARG002
        return [closed({}, data) for _, data in events]

    def texts_of(self, texts: Texts, last: str) -> Texts | None:  # noqa: ARG002
        return OpenedTexts(texts, opened, closed)


def opened(chunk: Any) -> Any:
    """The JSON in an event."""
    return json.loads(chunk["chunk"]["bytes"])


def closed(chunk: Any, told: Any) -> Any:
    """An event with other JSON."""
    return {"chunk": {**chunk.get("chunk", {}), "bytes": json.dumps(told).encode()}}


class ModelBody(Content):
    """The body of an invoked model's response.

    Args:
        result: The response.
    """

    whole = True

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result
        body = result["body"]
        self.stream = Pieces(type(body)(body._raw_stream, body._content_length))

    def put(self, stream: Any) -> None:
        body = self._result["body"]
        body._raw_stream = Reader(stream, self.stream, body._raw_stream)
        body._content_length = None  # it is compared before, and an answer of a hook has another

    def adder(self, chunks: Chunks, response: Callable[[Fields], Told], construct: Construct) -> Chunks:  # noqa: ARG002
        return _Body(self._result, response, construct)

    def written(self, payload: Payload, events: Iterable[Event], last: str) -> Iterable[Any]:  # noqa: ARG002
        return [json.dumps(payload).encode()]


class _Body:
    """Keeps the bytes of a body, and parses them on request."""

    def __init__(self, result: Fields, response: Callable[[Fields], Told], construct: Construct) -> None:
        self.keep = False
        self._headers = headers_of(result)
        self._response, self._construct = response, construct
        self._content = bytearray()

    @property
    def complete(self) -> bool:
        return bool(self._told())

    def add(self, chunk: bytes) -> bool:
        self._content += chunk
        return True

    def response(self) -> Told:
        return metered(self._response(self._told()), self._headers)

    def result(self) -> Any:
        told = self._told()
        return self._construct(dict(told)) if told else None

    def _told(self) -> Fields:
        try:
            read = json.loads(self._content)
        except ValueError:
            return {}
        return read if type(read) is dict else {}


def headers_of(result: Fields) -> Fields:
    """The headers of a response."""
    return result.get("ResponseMetadata", {}).get("HTTPHeaders") or {}
