"""Streams of chat, version 2 of the API: adds up their events, and finds the text in them."""

from collections.abc import Callable, Mapping
from typing import Any

from spanhook.instrument.wire import Construct, Fields, as_reported, fields_of, index_of, text_of, usage_in_stream
from spanhook.model import Attributes, ChunkText, Leaf, Route, Usage, leaves, with_texts


class ChatChunks:
    """Counts the characters of a stream, and keeps its usage and finish reason; the message only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        response: Reads the whole.
    """

    __slots__ = (
        "_body",
        "_calls",
        "_characters",
        "_construct",
        "_content",
        "_head",
        "_plan",
        "_read",
        "complete",
        "keep",
    )

    def __init__(
        self, body: Fields, construct: Construct, response: Callable[[Fields], tuple[Attributes, Usage | None]]
    ) -> None:
        self.keep = self.complete = False
        self._body, self._construct, self._read = body, construct, response
        self._characters = 0
        self._head: dict[str, Any] = {}
        self._plan: list[str] = []
        self._content: dict[int, dict[str, Any]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind, delta = text_of(told.get("type")), fields_of(told.get("delta"))
        if kind == "message-start":
            self._head["id"] = told.get("id")
        elif kind == "message-end":
            self._head.update(finish_reason=delta.get("finish_reason"), usage=as_reported(delta.get("usage")))
            self.complete = True
        else:
            self._hear(index_of(told), fields_of(delta.get("message")))
        return True

    def _hear(self, index: int, said: Fields) -> None:
        plan, content, call = said.get("tool_plan"), fields_of(said.get("content")), fields_of(said.get("tool_calls"))
        if isinstance(plan, str):
            self._characters += len(plan)
            if self.keep:
                self._plan.append(plan)
        for name in ("text", "thinking"):
            text = text_of(content.get(name))
            self._characters += len(text)
            if self.keep and name in content:
                part = self._content.setdefault(index, {"type": name, name: ""})
                part[name] = text_of(part.get(name)) + text
        if call:
            function = fields_of(call.get("function"))
            arguments = text_of(function.get("arguments"))
            self._characters += len(arguments) + len(text_of(function.get("name")))
            if self.keep:
                kept = self._calls.setdefault(index, {"type": "function", "function": {"arguments": ""}})
                kept.update({name: value for name, value in call.items() if name != "function" and value is not None})
                if function.get("name"):
                    kept["function"]["name"] = function["name"]
                kept["function"]["arguments"] += arguments

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._read(self._head)
        return attributes, usage_in_stream(used, self._body, self._characters)

    def result(self) -> Any:
        message: dict[str, Any] = {"role": "assistant"}
        if self._plan:
            message["tool_plan"] = "".join(self._plan)
        if self._content:
            message["content"] = [part for _, part in sorted(self._content.items())]
        if self._calls:
            message["tool_calls"] = [call for _, call in sorted(self._calls.items())]
        return self._construct({**self._head, "message": message})


class EventTexts:
    """The text of events."""

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = text_of(told.get("type"))
        about, _, phase = kind.rpartition("-")
        if phase == "end":
            ends = _always if kind == "message-end" else _about(about, index_of(told))
            return ChunkText(
                whole=tuple(leaves(fields_of(told.get("delta")).get("error"), ("delta", "error"))), ends=ends
            )
        found = tuple(leaves(told.get("delta"), ("delta",), (about, index_of(told))))
        if about in ("content", "tool-plan", "tool-call"):
            return ChunkText(grows=found)
        return ChunkText(whole=found)  # citations repeat what was said

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        changes: dict[Route, Any] = dict(texts)
        if fields_of(chunk).get("logprobs") is not None:  # they spell the text out
            changes["logprobs",] = None
        return with_texts(chunk, changes) if changes else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        others = {
            one.route: "" for one in (*self.read(chunk).grows, *self.read(chunk).whole) if one.route != leaf.route
        }
        return self.write(chunk, {**others, leaf.route: text})


EVENT_TEXTS = EventTexts()


def _always(_channel: tuple[Any, ...]) -> bool:
    return True


def _about(about: str, index: int) -> Callable[[tuple[Any, ...]], bool]:
    return lambda channel: channel[:2] == (about, index)
