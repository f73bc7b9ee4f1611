"""The text in the events of Anthropic's streams."""

from collections.abc import Mapping
from typing import Any

from spanhook.instrument.wire import ChunkLike, fields_of, index_of
from spanhook.model import ChunkText, Leaf, Route, leaves, with_texts

_DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "partial_json": "input_json_delta"}


class EventTexts:
    """Texts of events, each of which belongs to one block.

    Args:
        chunk_like: Creates an event of the same stream.
    """

    def __init__(self, chunk_like: ChunkLike) -> None:
        self._chunk_like = chunk_like

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = told.get("type")
        index = index_of(told)
        if kind == "content_block_delta":
            found = leaves(told.get("delta"), ("delta",), (index,))
            grows, whole = list[Leaf](), list[Leaf]()
            for leaf in found:  # a citation is sent at once
                (whole if "citation" in leaf.channel else grows).append(leaf)
            return ChunkText(grows, whole)
        if kind == "content_block_start":
            block = told.get("content_block")
            if fields_of(block).get("type") in ("text", "thinking"):
                return ChunkText(tuple(leaves(block, ("content_block",), (index,))))
            return ChunkText(whole=tuple(leaves(block, ("content_block",), (index,))))
        if kind == "content_block_stop":
            return ChunkText(ends=lambda channel: channel[0] == index)
        return ChunkText(ends=lambda _channel: kind == "message_stop")

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts) if texts else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        if fields_of(chunk).get("type") == "content_block_delta":
            return self.write(chunk, {leaf.route: text})
        index, name = leaf.channel[0], str(leaf.channel[-1])
        delta = {"type": _DELTAS.get(name, f"{name}_delta"), name: text}
        value = {"type": "content_block_delta", "index": index, "delta": delta}
        return value if isinstance(chunk, dict) else self._chunk_like(chunk, value)
