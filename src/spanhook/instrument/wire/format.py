"""What the JSON of one API means, whichever SDK sends it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.wire.content import Event, Payload
from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.unstreamed import Construct, NoChunks
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage
from spanhook.semconv import Kind

ChunkLike = Callable[[Any, Payload], Any]
"""Creates a chunk of the stream that the given chunk belongs to."""


class Format(ABC):
    """One API. It knows no SDK: requests are JSON, and results have fields, as models or as JSON.

    Attributes:
        kind: The kind of operation.
        takes: The fields of a ``Change`` that ``rewrite`` supports.
        system_in_messages: The instructions are among the messages.
        named_by: The start attribute that names the span, if it is not the model.
        streams: Whether the API can stream.
        parses: Whether SDKs parse its answers into the application's own types.
        binary: Its answers are not text or JSON.
        last: The data of the event that ends a stream, if that is not JSON.
        content: Fields of a request that ``describe`` does not read, so that requests that differ only in them are
            described once; ``None`` if every request is to be described by itself.
        turns: The field with the messages, if results of tools may be among them.
        beside: Dotted paths of further fields with text of the application's; they are the call's ``arguments``.
    """

    kind: Kind = "llm.call"
    takes: frozenset[str] = frozenset(("messages", "system", "inputs", "model"))
    system_in_messages = False
    named_by = ""
    streams = True
    parses = False
    binary = False
    last = ""
    content: frozenset[str] | None = None
    turns = ""
    beside: tuple[str, ...] = ()

    # ------------------------------------------------------------------------------------------ requests

    @abstractmethod
    def describe(self, attributes: Attributes, body: Fields) -> None:
        """Add what the API's own parameters say; the common ones are there already."""

    @abstractmethod
    def request(self, body: Fields) -> Request:
        """The request in common terms."""

    def carries(self, body: Fields) -> Carried:  # noqa: ARG002
        """The last text of each prompt."""
        return [None]

    @abstractmethod
    def rewrite(self, body: Payload, change: Change) -> None:
        """Change the JSON, which is a copy of its own, as a hook wants it."""

    def asking(self, body: Fields) -> Fields | None:  # noqa: ARG002
        """The JSON of a streamed request, made to ask for usage; ``None`` if there is nothing to ask for."""
        return None

    def not_asking(self, body: Fields) -> Fields | None:  # noqa: ARG002
        """The JSON of a request as it was before ``asking``; ``None`` if that did not change it."""
        return None

    def is_result(self, turn: Any) -> bool:  # noqa: ARG002
        """Whether a message is, or has, the result of a tool that the application has run."""
        return False

    def calls_before(self, results: int) -> int:  # noqa: ARG002
        """In how many messages before so many messages with results the calls are."""
        return 1

    def message(self, wire: Any) -> Message:
        """A message that a hook gave in the API's own form, in role/parts form."""
        told = {"role": "user", "content": wire} if isinstance(wire, str) else wire
        return {"role": told["role"], "parts": [{"type": "text", "content": told["content"]}]}

    # ------------------------------------------------------------------------------------------ results

    @abstractmethod
    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        """End attributes and usage."""

    def output(self, told: Fields) -> list[Message]:  # noqa: ARG002
        """The messages in role/parts form."""
        return []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        """Adds up the chunks of a stream; if there are no streams, what is known of a body that was cut off.

        Args:
            body: The request.
            construct: Creates the whole from JSON.
        """
        return NoChunks(body, construct)

    def texts(self, chunk_like: ChunkLike) -> Texts | None:  # noqa: ARG002
        """How the text in chunks is read and rewritten; ``None`` if streams must be held back as a whole."""
        return None

    # ------------------------------------------------------------------------------------------ answers

    @abstractmethod
    def payload(self, body: Fields, value: Any) -> Payload:
        """The answer on the wire for what a hook gave, as text or JSON.

        Raises:
            TypeError: It cannot be an answer.
        """

    def events(self, body: Fields, payload: Payload) -> Iterable[Event]:  # noqa: ARG002
        """The answer as a stream."""
        return ()

    def error(self, status: int, reason: str) -> Payload:  # noqa: ARG002
        """What a server would send with an HTTP status that refuses the request."""
        return {"error": {"message": reason}}
