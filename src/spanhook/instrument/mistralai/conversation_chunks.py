"""Streams of conversations: adds up their events, and finds the text in them."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.mistralai.chunks import Content
from spanhook.instrument.wire import Construct, Fields, fields_of, index_of, text_of, usage_in_stream
from spanhook.model import Attributes, ChunkText, Leaf, Route, Usage, leaves, with_texts

_SAID = {"message.output.delta": "content", "function.call.delta": "arguments", "tool.execution.delta": "arguments"}
"""The fields with text that continues, by type of event."""
_ENDINGS = ("conversation.response.done", "conversation.response.error")


class ConversationChunks:
    """Counts the characters of a stream, and keeps its usage; the entries only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        response: Reads the whole.
    """

    __slots__ = ("_body", "_characters", "_construct", "_head", "_outputs", "_read", "complete", "keep")

    def __init__(
        self, body: Fields, construct: Construct, response: Callable[[Fields], tuple[Attributes, Usage | None]]
    ) -> None:
        self.keep = self.complete = False
        self._body, self._construct, self._read = body, construct, response
        self._characters = 0
        self._head: dict[str, Any] = {}
        self._outputs: dict[tuple[int, str], _Entry] = {}

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind = text_of(told.get("type"))
        for name in ("conversation_id", "usage"):
            if told.get(name) is not None:
                self._head[name] = told[name]
        self.complete = self.complete or kind in _ENDINGS
        if kind in _SAID:
            self._characters += Content.length(told.get(_SAID[kind])) + len(text_of(told.get("name")))
        if text_of(told.get("model")):
            self._head["model"] = told["model"]
        if self.keep and not kind.startswith("conversation."):
            place = index_of(told, "output_index"), text_of(told.get("id"))
            self._outputs.setdefault(place, _Entry()).add(kind, told)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        outputs = [{"model": self._head["model"]}] if "model" in self._head else []
        attributes, used = self._read({**self._head, "outputs": outputs})
        return attributes, usage_in_stream(used, self._body, self._characters)

    def result(self) -> Any:
        outputs = [entry.whole() for _, entry in sorted(self._outputs.items(), key=lambda item: item[0][0])]
        known = {"object": "conversation.response", "conversation_id": self._head.get("conversation_id")}
        return self._construct({**known, "outputs": outputs, "usage": self._head.get("usage")})


class _Entry:
    """One output, as far as it has arrived."""

    __slots__ = ("_arguments", "_content", "_head")

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._arguments: list[str] = []
        self._content: Content | None = None

    def add(self, kind: str, told: Fields) -> None:
        beyond = ("type", "content", "arguments", "output_index", "content_index")
        self._head.update({name: value for name, value in told.items() if name not in beyond and value is not None})
        self._head["type"] = kind.rpartition(".")[0] if kind != "agent.handoff.done" else "agent.handoff"
        if kind == "message.output.delta":
            self._content = self._content or Content()
            self._content.add(told.get("content"))
        elif kind in _SAID or not self._arguments:
            self._arguments.append(text_of(told.get("arguments")))

    def whole(self) -> dict[str, Any]:
        made = {"object": "entry", **self._head}
        if self._content is not None:
            return {**made, "content": self._content.whole()}
        return {**made, "arguments": "".join(self._arguments)} if any(self._arguments) else made


class EventTexts:
    """The text of events."""

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = text_of(told.get("type"))
        field = _SAID.get(kind)
        if field is not None:
            channel = (kind, index_of(told, "output_index"), text_of(told.get("id")))
            if field == "content":
                channel = (*channel, index_of(told, "content_index"))
            return ChunkText(grows=tuple(leaves(told.get(field), (field,), channel)))
        whole = [
            leaf for name, value in told.items() if name not in _NO_TEXT for leaf in leaves(value, (name,), (name,))
        ]
        return ChunkText(whole=tuple(whole), ends=_ends(kind, told))

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        return with_texts(chunk, {leaf.route: text})


_NO_TEXT = frozenset(("type", "id", "conversation_id", "tool_call_id", "created_at", "model", "agent_id", "usage"))
EVENT_TEXTS = EventTexts()


def _ends(kind: str, told: Fields) -> Callable[[tuple[Any, ...]], bool]:
    """Which channels an event ends: all of them, or those of a tool that has run."""
    if kind in _ENDINGS:
        return lambda _channel: True
    if kind.endswith(".done"):
        place = index_of(told, "output_index"), text_of(told.get("id"))
        return lambda channel: channel[1:3] == place
    return lambda _channel: False
