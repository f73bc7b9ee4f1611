"""Content that a result only holds and that is read later, such as the body of an HTTP response."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from spanhook.instrument.wire.reading import Fields
from spanhook.instrument.wire.unstreamed import Construct
from spanhook.model import Attributes, Chunks, Framing, Texts, Usage

Payload = dict[str, Any]
Event = tuple[str, Payload]
"""The name of a server-sent event, or empty, and its data."""
Told = tuple[Attributes, Usage | None]


class Content(ABC):
    """The unread content of one result.

    Attributes:
        stream: The library's stream of pieces: iterable, with ``close`` or ``aclose``.
        whole: As in ``Body``.
    """

    stream: Any
    whole = False

    @abstractmethod
    def put(self, stream: Any) -> None:
        """Replace the stream."""

    @abstractmethod
    def adder(self, chunks: Chunks, response: Callable[[Fields], Told], construct: Construct) -> Chunks:
        """Adds up the pieces.

        Args:
            chunks: Adds up the chunks that the pieces contain, if the content is a stream.
            response: Reads the JSON that they are together, if it is not.
            construct: Creates the result from that JSON.
        """

    @abstractmethod
    def written(self, payload: Payload, events: Iterable[Event], last: str) -> Iterable[Any]:
        """An answer in pieces; arguments as for ``Transport.deliver``.

        Raises:
            TypeError: It cannot be written in the form that has already been announced.
        """

    def texts_of(self, texts: Texts, last: str) -> Texts | None:  # noqa: ARG002
        """How the text in pieces, or in the units that ``framing`` cuts them into, is read, given how it is read in
        chunks; ``None`` if it cannot be read as it arrives.
        """
        return None

    def framing(self) -> Framing | None:
        """Cuts the pieces into units; ``None`` if each piece is one."""
        return None
