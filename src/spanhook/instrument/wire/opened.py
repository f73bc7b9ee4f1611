"""Streams whose chunks are no JSON themselves, but contain it: as text, as bytes, or in objects of the SDK's."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from spanhook.diagnostics import internal
from spanhook.model import Attributes, Chunks, ChunkText, Leaf, Route, Texts, Usage

Opened = Callable[[Any], Any]
Closed = Callable[[Any, Any], Any]


class OpenedChunks:
    """Adds up the JSON in chunks.

    Args:
        chunks: Adds up JSON.
        opened: Reads the JSON in a chunk.
    """

    __slots__ = ("_chunks", "_opened")

    def __init__(self, chunks: Chunks, opened: Opened) -> None:
        self._chunks, self._opened = chunks, opened

    def add(self, chunk: Any) -> bool:
        return self._chunks.add(self._opened(chunk))

    @property
    def keep(self) -> bool:
        return self._chunks.keep

    @keep.setter
    def keep(self, value: bool) -> None:
        self._chunks.keep = value

    @property
    def complete(self) -> bool:
        return self._chunks.complete

    def response(self) -> tuple[Attributes, Usage | None]:
        return self._chunks.response()

    def result(self) -> Any:
        return self._chunks.result()


class HeldChunks:
    """Adds up the JSON in the text of chunks, many at once, which costs less than reading each as it comes.

    The consumer sees every chunk.

    Args:
        chunks: Adds up JSON.
        held: The text of a chunk.
        parsed: Reads the JSON in it.
    """

    __slots__ = ("_chunks", "_held", "_parsed", "_waiting", "keep")

    def __init__(self, chunks: Chunks, held: Opened, parsed: Opened) -> None:
        self._chunks, self._held, self._parsed = chunks, held, parsed
        self._waiting: deque[Any] = deque()
        self.keep = False

    def brief(self, chunk: Any) -> bool:
        """Hold a chunk, unless it is time to read those that wait."""
        if len(self._waiting) == _MOST_WAITING:
            return False
        self._waiting.append(self._held(chunk))
        return True

    def add(self, chunk: Any) -> bool:
        self._waiting.append(self._held(chunk))
        self._added_up()
        return True

    @property
    def complete(self) -> bool:
        return self._added_up().complete

    def response(self) -> tuple[Attributes, Usage | None]:
        return self._added_up().response()

    def result(self) -> Any:
        return self._added_up().result()

    def _added_up(self) -> Chunks:
        """The adder, after adding all that wait; one that cannot be read is left out."""
        self._chunks.keep = self.keep
        while self._waiting:
            try:
                self._chunks.add(self._parsed(self._waiting.popleft()))
            except Exception as error:
                internal.report("extract.chunk", error, lost=1)
        return self._chunks


_MOST_WAITING = 64


class OpenedTexts:
    """The text in the JSON of chunks.

    Args:
        texts: How it is read in JSON.
        opened: Reads the JSON in a chunk.
        closed: A chunk with other JSON, given the original one.
    """

    def __init__(self, texts: Texts, opened: Opened, closed: Closed) -> None:
        self._texts, self._opened, self._closed = texts, opened, closed

    def read(self, chunk: Any) -> ChunkText:
        return self._texts.read(self._opened(chunk))

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        told = self._opened(chunk)
        made = self._texts.write(told, texts)
        return chunk if made == told else self._closed(chunk, made)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        return self._closed(chunk, self._texts.more(self._opened(chunk), leaf, text))
