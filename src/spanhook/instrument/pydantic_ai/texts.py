"""The text in the events of a model's stream."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_ai.messages import PartDeltaEvent, TextPartDelta, ThinkingPartDelta, ToolCallPartDelta

from spanhook.model import ChunkText, Leaf, Route, leaves, with_texts

_SAYS = {"content": "content", "content_delta": "content", "args": "args", "args_delta": "args"}
"""The fields of parts and their deltas that contain text, and what they belong to."""


class EventTexts:
    """Texts of events: parts that begin, and what is added to them."""

    def read(self, chunk: Any) -> ChunkText:
        kind = getattr(chunk, "event_kind", "")
        if kind == "part_start":
            return ChunkText(tuple(_texts(chunk.part, "part", chunk.index)))
        if kind == "part_delta":
            return ChunkText(tuple(_texts(chunk.delta, "delta", chunk.index)))
        if kind == "part_end":
            index = chunk.index
            return ChunkText(whole=tuple(_texts(chunk.part, "part", index)), ends=lambda channel: channel[0] == index)
        if kind == "final_result":
            return ChunkText()
        raise TypeError(f"no text can be read from {type(chunk).__name__}")

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        index: Any
        index, name, *inside = leaf.channel
        if inside:
            return with_texts(chunk, {leaf.route: text})
        part = chunk.part if hasattr(chunk, "part") else chunk.delta
        kind = getattr(part, "part_kind", "") or getattr(part, "part_delta_kind", "")
        delta: Any
        if name == "args":
            delta = ToolCallPartDelta(args_delta=text)
        elif kind == "thinking":
            delta = ThinkingPartDelta(content_delta=text)
        else:
            delta = TextPartDelta(content_delta=text)
        return PartDeltaEvent(index=index, delta=delta)


def _texts(told: Any, name: str, index: int) -> Iterator[Leaf]:
    for place, what in _SAYS.items():
        value = getattr(told, place, None)
        if value is not None and not isinstance(value, bytes):
            yield from _leaves(value, (name, place), (index, what))


def _leaves(value: Any, route: Route, channel: tuple[Any, ...]) -> Iterator[Leaf]:
    if isinstance(value, str | dict | list | tuple):
        yield from leaves(value, route, channel)


EVENT_TEXTS = EventTexts()
