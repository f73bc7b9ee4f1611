"""Adds up the events of a response's stream, as models or as JSON."""

from collections.abc import Callable
from typing import Any

from openai._models import construct_type

from spanhook.instrument.openai.reading import note
from spanhook.instrument.stainless import Fields, fields_of, index_of, text_of
from spanhook.model import Attributes, Usage

_LAST = frozenset(("response.completed", "response.incomplete", "response.failed"))


class ResponsesChunks:
    """Counts the characters of a stream until its last event reports everything; keeps the items only if ``keep``.

    Args:
        response: Reads a complete response.
        estimate: Estimates the usage, given the number of characters that have arrived.
    """

    __slots__ = ("_characters", "_estimate", "_head", "_items", "_last", "_response", "_text", "keep")

    def __init__(
        self,
        response: Callable[[Any], tuple[Attributes, Usage | None]],
        estimate: Callable[[int], Usage | None],
    ) -> None:
        self.keep = False
        self._response, self._estimate = response, estimate
        self._head: Any = None
        self._last: Any = None
        self._characters = 0
        self._items: dict[int, Any] = {}
        self._text: dict[int, list[str]] = {}

    @property
    def complete(self) -> bool:
        return self._last is not None

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind = text_of(told.get("type"))
        if kind.endswith(".delta"):
            delta = told.get("delta")
            if isinstance(delta, str) and not kind.startswith("response.audio.d"):  # sound, not its transcript
                self._characters += len(delta)
                if self.keep and kind == "response.output_text.delta":
                    self._text.setdefault(index_of(told, "output_index"), []).append(delta)
        elif kind in _LAST:
            self._last = told.get("response")
        elif self._head is None and kind == "response.created":
            self._head = told.get("response")
        elif self.keep and kind == "response.output_item.done":
            index = index_of(told, "output_index")
            self._items[index] = told.get("item")
            self._text.pop(index, None)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        if self._last is not None:
            attributes, used = self._response(self._last)
        else:
            attributes, used = dict[str, Any](), None
            note(attributes, fields_of(self._head))
        return attributes, used or self._estimate(self._characters)

    def result(self) -> Any:
        from openai.types.responses import Response

        whole = self._last if self._last is not None else self._head
        told: Fields = fields_of(whole)
        if self._last is not None and told.get("output") is not None:
            return whole if type(whole) is not dict else construct_type(type_=Response, value=whole)
        return construct_type(type_=Response, value={**told, "output": self._output()})

    def _output(self) -> list[Any]:
        """The items that have arrived, and the text of incomplete ones."""
        items = dict(self._items)
        for index, pieces in self._text.items():
            content = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
            items[index] = {"type": "message", "role": "assistant", "status": "incomplete", "content": content}
        return [item for _, item in sorted(items.items())]
