"""Adds up the chunks of Mistral's chat completions, whose content is text, or parts."""

import json
from collections.abc import Callable
from typing import Any

from spanhook.instrument.formats.openai import ChatChunks, Growing
from spanhook.instrument.mistralai.messages import thought_in
from spanhook.instrument.wire import Construct, Fields, fields_of, list_of, text_of
from spanhook.model import Attributes, Usage


class Content:
    """Content of a message, as far as it has arrived: text or parts, those that continue each other joined."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []

    def add(self, content: Any) -> None:
        """Take text, a part or parts."""
        if isinstance(content, str):
            if content:
                self._join({"type": "text", "text": content})
        elif isinstance(content, list):
            for one in content:
                self._join(dict(fields_of(one)))
        elif content is not None:
            self._join(dict(fields_of(content)))

    def _join(self, part: dict[str, Any]) -> None:
        last, kind = self._parts[-1] if self._parts else {}, part.get("type")
        if last.get("type") != kind or kind not in ("text", "thinking"):
            self._parts.append(part)
        elif kind == "text":
            last["text"] = text_of(last.get("text")) + text_of(part.get("text"))
        else:
            said = thought_in(last) + thought_in(part)
            last.update({**part, "thinking": [{"type": "text", "text": said}]})

    def whole(self) -> Any:
        """The content on the wire: text if it is only that."""
        if all(part.get("type") == "text" for part in self._parts):
            return "".join(text_of(part.get("text")) for part in self._parts)
        return self._parts

    @staticmethod
    def length(content: Any) -> int:
        """The number of characters of text in it."""
        if isinstance(content, str):
            return len(content)
        parts = content if isinstance(content, list) else [content]
        return sum(len(thought_in(one)) + len(text_of(fields_of(one).get("text"))) for one in parts)


class _Growing(Growing):
    """A message, as far as it has arrived."""

    __slots__ = ("_content",)

    def __init__(self) -> None:
        super().__init__()
        self._content = Content()

    def add(self, delta: Fields, more: Fields) -> None:  # noqa: ARG002
        self._content.add(delta.get("content"))
        super().add({name: value for name, value in delta.items() if name not in ("content", "index")}, {})

    def whole(self) -> dict[str, Any]:
        return {**super().whole(), "content": self._content.whole() or None}


class MistralChunks(ChatChunks):
    """Adds up chunks.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        used_in: Reads the usage of what has fields.
    """

    __slots__ = ("_grown", "_used_in")

    def __init__(self, body: Fields, construct: Construct, used_in: Callable[[Fields], Usage | None]) -> None:
        super().__init__(body, construct, itself=False)
        self._grown: dict[int, _Growing] = {}
        self._used_in = used_in

    def hear(self, index: int, said: Fields) -> None:
        delta = fields_of(said.get("delta"))
        self.characters += Content.length(delta.get("content"))
        calls = [_with_text(call) for call in list_of(delta.get("tool_calls"))]
        for call in calls:
            function = fields_of(call.get("function"))
            self.characters += len(text_of(function.get("name"))) + len(function.get("arguments") or "")
        if self.keep:
            message = self._grown.get(index)
            if message is None:
                message = self._grown[index] = _Growing()
            message.add({**delta, "tool_calls": calls or None}, {})

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = super().response()
        return attributes, used if self.usage is None else self._used_in({"usage": self.usage})

    def result(self) -> Any:
        choices = [
            {"index": index, "message": message.whole(), "finish_reason": self.reasons.get(index)}
            for index, message in sorted(self._grown.items())
        ]
        return self.construct({**self.whole(), "object": "chat.completion", "choices": choices})


def _with_text(call: Any) -> dict[str, Any]:
    """A tool call whose arguments are text."""
    told = dict(fields_of(call))
    function = dict(fields_of(told.get("function")))
    if isinstance(function.get("arguments"), dict):
        function["arguments"] = json.dumps(function["arguments"])
    return {**told, "function": function}
