"""Adds up the events of a response's stream, as models or as JSON."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.reading import RESPONSES_USAGE, noted_answer, usage_of
from spanhook.instrument.wire import Construct, Fields, fields_of, index_of, list_of, text_of, usage_in_stream
from spanhook.model import Attributes, Usage, copied

_LAST = frozenset(("response.completed", "response.incomplete", "response.failed"))
_TOOL_CALLS = ("function_call", "custom_tool_call")
_INCOMPLETE = {"max_output_tokens": "length"}
_STOPPED = {"failed": "error", "cancelled": "cancelled"}


def finish_reason(told: Fields) -> str:
    """Why a response ended, in the terms of chat completions; empty while it runs in the background."""
    status = told.get("status")
    if status == "completed":
        called = any(fields_of(item).get("type") in _TOOL_CALLS for item in list_of(told.get("output")))
        return "tool_calls" if called else "stop"
    if status == "incomplete":
        reason = text_of(fields_of(told.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason, reason or "incomplete")
    return _STOPPED.get(str(status), "")


def whole_response(told: Fields, *, itself: bool) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a complete response."""
    attributes = noted_answer(told, itself=itself)
    reason = finish_reason(told)
    if reason:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    return attributes, usage_of(told.get("usage"), RESPONSES_USAGE)


class ResponsesChunks:
    """Counts the characters of a stream until its last event reports everything; keeps the items only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
        itself: The server is OpenAI's own.
    """

    __slots__ = (
        "_body",
        "_characters",
        "_construct",
        "_head",
        "_items",
        "_itself",
        "_last",
        "_reported",
        "_text",
        "keep",
    )

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        self.keep = False
        self._body, self._construct, self._itself = body, construct, itself
        self._head: Any = None
        self._last: Any = None
        self._reported: tuple[Attributes, Usage | None] = {}, None
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
            self._last = self._kept(told.get("response"))
            self._reported = whole_response(fields_of(self._last), itself=self._itself)
        elif self._head is None and kind == "response.created":
            self._head = self._kept(told.get("response"))
            self._reported = noted_answer(fields_of(self._head), itself=self._itself), None
        elif self.keep and kind == "response.output_item.done":
            index = index_of(told, "output_index")
            self._items[index] = copied(told.get("item"))
            self._text.pop(index, None)
        return True

    def _kept(self, response: Any) -> Any:
        """A response as it is now, if it becomes the result: its consumer may edit it."""
        return copied(response) if self.keep else response

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = self._reported
        return dict(attributes), usage_in_stream(None if used is None else used.copied(), self._body, self._characters)

    def result(self) -> Any:
        whole = self._last if self._last is not None else self._head
        told: Fields = fields_of(whole)
        if self._last is not None and told.get("output") is not None:
            return whole if type(whole) is not dict else self._construct(whole)
        return self._construct({**told, "output": self._output()})

    def _output(self) -> list[Any]:
        """The items that have arrived, and the text of incomplete ones."""
        items = dict(self._items)
        for index, pieces in self._text.items():
            content = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
            items[index] = {"type": "message", "role": "assistant", "status": "incomplete", "content": content}
        return [item for _, item in sorted(items.items())]
