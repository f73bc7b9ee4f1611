"""How streams are read and answered: the part of an adapter for results that come in chunks."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from spanhook.model.arguments import Args, Attributes, Kwargs
from spanhook.model.chunk_text import Texts
from spanhook.model.usage import Usage

Ending = Literal["exhausted", "completed", "result", "drained"]
"""With what the operation of a stream ends: the end of the stream; or the chunk that completes it, for consumers that
read no further. That chunk may be the whole ``result``: hooks decide about it before it goes out. If what follows it
belongs to the result too, the stream is ``drained``: the rest is read at once, so that the operation does not last
while the consumer acts on the result.
"""


class Chunks(Protocol):
    """Adds up the chunks of one stream. ``add`` runs per chunk, so it keeps only what ``response`` needs.

    A class may also have ``brief``: a function that takes a chunk of the usual form in its place, and shows it; it
    returns false, and takes nothing, if the chunk is any other, and raises nothing. ``None`` until it can be used.

    Attributes:
        keep: Set if a hook or content capture will ask for ``result``.
        complete: The last chunk has arrived: a consumer that closes the stream now has not stopped early.
    """

    keep: bool

    @property
    def complete(self) -> bool: ...

    def add(self, chunk: Any) -> bool:
        """Take one chunk; ``False`` hides it from the consumer, which did not ask for it.

        The consumer may edit the chunk afterwards: read its usage now, and keep ``copied(chunk)``.
        """
        ...

    def response(self) -> tuple[Attributes, Usage | None]:
        """End attributes and usage of what has arrived so far."""
        ...

    def result(self) -> Any:
        """What the same call would have returned without streaming, as far as it got, or a ``Later``."""
        ...


class HandsOut(Protocol):
    """Hands out the stream of one call in an object of the library's."""

    def steps(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Make the call and pass on what its stream yields: an async generator function."""
        ...

    def around(self, stream: Any) -> Any:
        """What the caller gets: the library's object, which reads ``stream``."""
        ...


class Withheld(Protocol):
    """Output that would leave a call other than as its return value, such as through callbacks, held until hooks have
    decided.

    ``out`` yields the actions that release it, one by one: unchanged if the result is what the call returned, otherwise
    as hooks decided. A second call continues where the first one stopped.
    """

    def out(self) -> Iterator[Callable[[bool], Any]]:
        """The actions; each is called with whether its return value will be awaited."""
        ...


class Framing(Protocol):
    """Cuts the pieces of one body into units that ``Texts`` can read, and puts units together again."""

    def units(self, piece: Any) -> Sequence[Any]:
        """The units that are complete now.

        Raises:
            Exception: The piece cannot be read.
        """
        ...

    def rest(self) -> Sequence[Any]:
        """What is left at the end, as units."""
        ...

    def pieces(self, units: Sequence[Any], *, last: bool = False) -> Sequence[Any]:
        """Units as they go out; ``last`` if no others follow."""
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a result that its holder may read later, as a stream of pieces, such as bytes.

    Attributes:
        stream: The library's stream of pieces: iterable, with ``close`` or ``aclose``.
        put: Replaces the stream.
        chunks: Adds up the pieces.
        answer: The pieces for a value that a hook gave instead.
        texts: How the text in the pieces, or in the units that ``framing`` cuts them into, is read and rewritten as
            they pass; ``None`` if the body must be held back as a whole for hooks to decide about it.
        framing: Creates a ``Framing``; ``None``, or returning ``None``, if each piece is one unit.
        whole: Its holder reads it as a whole, not as a stream: hooks decide before any of it is read.
    """

    stream: Any
    put: Callable[[Any], None]
    chunks: Chunks
    answer: Callable[[Any], Iterable[Any]]
    texts: Texts | None = None
    framing: Callable[[], Framing | None] | None = None
    whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """How results that are streams are read.

    Attributes:
        chunks: Makes the ``Chunks`` of a stream, from its call; ``None`` if those of the ``body`` are all there are.
        stream_of: ``"sync"``, ``"async"`` or ``""``: which kind of stream a result is, if not every result is one.
        answer_chunks: The library's own chunks for a value that a hook gave: as the answer of a generator function, or
            in place of a stream that was held back. The stream of another function is answered by ``Editing.answer``.
        hands_out: For a library that returns an object of its own at once, in which the call begins when its stream is
            read: makes what hands it out, of the function and its call; see ``HandsOut``.
        texts: How the text in a stream's chunks is read and rewritten as they pass. If unsure, leave it out: a stream
            is then held back as a whole for hooks to decide about it. ``PlainTexts`` is for chunks that all add text;
            one that repeats what others have said is in ``ChunkText.whole``, as its text would go out twice.
        body: The body of a result that ``stream_of`` calls a stream, if the result holds unread content.
        ends: Which chunk, or end, of a stream ends its operation.
        opaque: The stream runs no application code, so no context is attached around its steps.
    """

    chunks: Callable[[Any, Args, Kwargs], Chunks] | None = None
    stream_of: Callable[[Any], str] | None = None
    answer_chunks: Callable[[Any, Args, Kwargs, Any], Iterable[Any]] | None = None
    hands_out: Callable[[Callable[..., Any], Any, Args, Kwargs], HandsOut] | None = None
    texts: Texts | None = None
    body: Callable[[Any, Args, Kwargs, Any], Body | None] | None = None
    ends: Ending = "exhausted"
    opaque: bool = False


UNREAD = Streaming()
"""For streams whose chunks are not read."""
