"""Streams of version 1 of the API: objects that say what they are in ``event_type``, the last of which has it all."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.wire import Construct, Fields, fields_of, list_of, text_of, usage_in_stream
from spanhook.model import Attributes, ChunkText, Leaf, Route, Usage, leaves, with_texts

_ENDING = "stream-end"
_NO_TEXT = frozenset(("event_type", "generation_id", "finish_reason", "is_finished"))


class LineChunks:
    """Counts the characters of a stream, and keeps the whole answer that its last chunk has.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        response: Reads the whole.
    """

    __slots__ = ("_body", "_calls", "_construct", "_head", "_length", "_read", "_text", "_whole", "complete", "keep")

    def __init__(
        self, body: Fields, construct: Construct, response: Callable[[Fields], tuple[Attributes, Usage | None]]
    ) -> None:
        self.keep = self.complete = False
        self._body, self._construct, self._read = body, construct, response
        self._length = 0
        self._head: dict[str, Any] = {}
        self._text: list[str] = []
        self._calls: list[Any] = []
        self._whole: Fields = {}

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind = text_of(told.get("event_type"))
        if kind == _ENDING:
            self._whole, self.complete = fields_of(told.get("response")), True
            self._head["finish_reason"] = told.get("finish_reason")
        elif kind == "text-generation":
            said = text_of(told.get("text"))
            self._length += len(said)
            if self.keep:
                self._text.append(said)
        elif kind == "tool-calls-generation":
            self._calls = [*list_of(told.get("tool_calls"))]
        if told.get("generation_id"):
            self._head["generation_id"] = told["generation_id"]
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._read({**self._head, **self._whole})
        return attributes, usage_in_stream(used, self._body, self._length)

    def result(self) -> Any:
        whole = {"text": "".join(self._text), **self._head, **self._whole}
        return self._construct({**whole, "tool_calls": self._calls} if self._calls else whole)


class LineTexts:
    """The text of such chunks."""

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = text_of(told.get("event_type"))
        found = [
            leaf
            for name, value in told.items()
            if name not in _NO_TEXT
            for leaf in leaves(value, (name,), (kind, told.get("index"), name))
        ]
        if kind in ("text-generation", "tool-calls-chunk"):
            return ChunkText(grows=tuple(found))
        return ChunkText(whole=tuple(found), ends=_always if kind == _ENDING else _never)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        others = {one.route: "" for one in self.read(chunk).grows if one.route != leaf.route}
        return with_texts(chunk, {**others, leaf.route: text})


LINE_TEXTS = LineTexts()


def _always(_channel: tuple[Any, ...]) -> bool:
    return True


def _never(_channel: tuple[Any, ...]) -> bool:
    return False
