"""Adds up the stream of a chat model, in both of its forms."""

from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from spanhook import semconv
from spanhook.instrument.langchain_core.results import finish_reason, note, usage_of
from spanhook.model import Args, Attributes, Kwargs, Packed, Usage, later, packed, unpacked


class ChatChunks:
    """Adds up the ``AIMessageChunk``s of a stream, or the events of the v3 protocol."""

    __slots__ = ("_attributes", "_calling", "_kept", "_reason", "_used", "complete", "keep", "mark")

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self._kept: list[Packed] = []
        self.mark: Any = None
        self._attributes: Attributes = {}
        self._reason = ""
        self._calling: Any = None
        self._used: Usage | None = None

    def add(self, chunk: Any) -> bool:
        if isinstance(chunk, dict):
            self._event(chunk)
        else:
            self.complete = getattr(chunk, "chunk_position", "last") == "last"  # a complete message has no position
            if self.mark is None:
                self.mark = chunk.id
            if getattr(chunk, "tool_calls", None):
                self._calling = chunk
            told = chunk.response_metadata
            if told:
                self._told(told)
            if chunk.usage_metadata:
                self._use(chunk.usage_metadata)
        if self.keep:
            self._kept.append(packed(chunk))  # its consumer may edit it
        return True

    def _event(self, event: dict[str, Any]) -> None:
        self.complete = event.get("event") == "message-finish"
        for key in ("metadata", "response_metadata"):
            told = event.get(key)
            if isinstance(told, dict):
                self._told(told)
        if isinstance(event.get("usage"), dict):
            self._use(event["usage"])

    def _told(self, told: Any) -> None:
        note(self._attributes, told)
        self._reason = finish_reason(told, self._calling) or self._reason

    def _use(self, reported: Any) -> None:
        mine = usage_of(reported)
        if mine is None:
            return
        if self._used is None:
            self._used = mine
        else:
            self._used.add(mine)

    def response(self) -> tuple[Attributes, Usage | None]:
        if self._reason:
            self._attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (self._reason,)
        return self._attributes, self._used

    def result(self) -> Any:
        """The stream as ``generate`` would have returned it."""
        return later(partial(_whole, [kind for kind, _ in self._kept]), [data for _, data in self._kept])


def _whole(kinds: list[Any], data: list[Any]) -> LLMResult | None:
    kept = list(map(unpacked, kinds, data))
    messages = [chunk for chunk in kept if isinstance(chunk, BaseMessage)]
    whole: Any = messages[0] if messages else _assembled(kept)
    for chunk in messages[1:]:
        whole = whole + chunk
    return None if whole is None else LLMResult(generations=[[ChatGeneration(message=whole)]])


def _assembled(events: list[Any]) -> Any:
    """The message in events of the v3 protocol; ``None`` if it is not complete."""
    if not events:
        return None
    from langchain_core.language_models.chat_model_stream import ChatModelStream

    stream = ChatModelStream()
    for event in events:
        stream.dispatch(event)
    return stream.output_message
