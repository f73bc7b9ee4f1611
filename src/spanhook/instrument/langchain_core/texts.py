"""The text in the chunks of LangChain's models: messages and generations."""

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk

from spanhook.model import ChunkText, Leaf, PlainTexts, Route, leaves, nested, with_texts

_SAID = ("content", "tool_call_chunks", "additional_kwargs")
_DERIVED = {"tool_calls": (), "invalid_tool_calls": ()}
"""What a message works out from its other fields when it is made."""


class MessageTexts:
    """Texts of message chunks; a message that is no chunk is complete."""

    def read(self, chunk: Any) -> ChunkText:
        if not isinstance(chunk, BaseMessage):
            raise TypeError(f"{type(chunk).__name__} is no message")
        if not isinstance(chunk, AIMessageChunk):
            return ChunkText(whole=(*_said(chunk), *leaves(getattr(chunk, "tool_calls", None), ("tool_calls",))))
        last = chunk.chunk_position == "last"
        return ChunkText(tuple(_said(chunk)), ends=lambda _channel: last)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        if not texts and "logprobs" not in chunk.response_metadata:
            return chunk
        changes: dict[Route, Any] = dict(texts)
        if "logprobs" in chunk.response_metadata:  # they spell the text out
            changes["response_metadata", "logprobs"] = None
        if not isinstance(chunk, AIMessageChunk):
            return with_texts(chunk, changes)
        fields = with_texts({name: value for name, value in chunk if name not in _DERIVED}, changes)
        return type(chunk)(**fields)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        return type(chunk)(**{"id": chunk.id, "content": "", **self._added(chunk, leaf, text)})

    @staticmethod
    def _added(chunk: Any, leaf: Leaf, text: str) -> dict[str, Any]:
        field, *inside = leaf.channel
        if field == "content":
            if not inside:
                return {"content": text}
            block = chunk.content[leaf.route[1]]
            if isinstance(block, str):
                return {"content": [text]}
            kept = {name: block[name] for name in ("type", "index") if name in block}
            return {"content": [{**kept, **nested(inside[1:], text)}]}
        if field == "tool_call_chunks":
            call = {"name": None, "id": None, "type": "tool_call_chunk", "args": text}
            return {"tool_call_chunks": [{**call, "index": chunk.tool_call_chunks[leaf.route[1]]["index"]}]}
        return {"additional_kwargs": nested(inside, text)}


def _said(chunk: Any) -> Iterator[Leaf]:
    for name in _SAID:
        yield from leaves(getattr(chunk, name, None), (name,), (name,))


class GenerationTexts:
    """Texts of generations, with or without messages."""

    def read(self, chunk: Any) -> ChunkText:
        if isinstance(chunk, ChatGenerationChunk):
            return MESSAGE_TEXTS.read(chunk.message)
        if isinstance(chunk, GenerationChunk):
            return ChunkText((Leaf(("text",), ("text",), chunk.text),) if chunk.text else ())
        raise TypeError(f"{type(chunk).__name__} is no generation")

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        about = chunk.generation_info
        if about and "logprobs" in about:
            about = {**about, "logprobs": None}
        if isinstance(chunk, ChatGenerationChunk):
            message = MESSAGE_TEXTS.write(chunk.message, texts)
            if message is chunk.message and about is chunk.generation_info:
                return chunk
            return ChatGenerationChunk(message=message, generation_info=about)
        return GenerationChunk(text=texts.get(("text",), chunk.text), generation_info=about)

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        if isinstance(chunk, ChatGenerationChunk):
            return ChatGenerationChunk(message=MESSAGE_TEXTS.more(chunk.message, leaf, text))
        return GenerationChunk(text=text)


MESSAGE_TEXTS = MessageTexts()
GENERATION_TEXTS = GenerationTexts()
TEXT = PlainTexts()
