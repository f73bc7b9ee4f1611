"""The text in the chunks of OpenAI's streams: chat, completions, responses."""

from collections.abc import Iterator, Mapping
from typing import Any

from spanhook.instrument.wire import ChunkLike, fields_of, index_of, list_of, text_of
from spanhook.model import Channel, ChunkText, Leaf, Route, fields_in, leaves, nested, with_texts

_SOUND = ("response.audio.", "response.output_audio.", "response.image_generation_call.")
"""Events whose deltas are no text."""
_SAID = frozenset(("delta", "message", "text"))
"""What a choice says; its other fields are about that."""
_ENDINGS = ("response.completed", "response.incomplete", "response.failed")
_HEADS = ("response.created", "response.in_progress", "response.queued")


class ChoiceTexts:
    """Texts of chunks with choices.

    Args:
        chunk_like: Creates a chunk of the same stream.
    """

    def __init__(self, chunk_like: ChunkLike) -> None:
        self._chunk_like = chunk_like

    def read(self, chunk: Any) -> ChunkText:
        grows: list[Leaf] = []
        ended: set[int] = set()
        for position, choice in enumerate(list_of(fields_of(chunk).get("choices"))):
            told = fields_of(choice)
            index = index_of(told)
            if told.get("finish_reason"):
                ended.add(index)
            for name, value in fields_in(choice):
                if name in _SAID and value is not None:
                    grows += leaves(value, ("choices", position, name), (index, name))
        return ChunkText(grows, ends=lambda channel: channel[0] in ended)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        changes: dict[Route, Any] = dict(texts)
        for position, choice in enumerate(list_of(fields_of(chunk).get("choices"))):
            if fields_of(choice).get("logprobs") is not None:  # they spell the text out
                changes["choices", position, "logprobs"] = None
        return with_texts(chunk, changes) if changes else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        index, *inside = leaf.channel
        head = {name: value for name, value in fields_of(chunk).items() if name not in ("choices", "usage")}
        whole = {**head, "choices": [{"index": index, "finish_reason": None, **nested(inside, text)}]}
        return whole if isinstance(chunk, dict) else self._chunk_like(chunk, whole)


class ResponseTexts:
    """Texts of the events of a response: deltas, and events that repeat what deltas have said."""

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        kind = text_of(told.get("type"))
        if kind in _HEADS:  # what was asked for, and nothing said yet
            return ChunkText()
        if kind.endswith(".delta"):
            if kind.startswith(_SOUND) and "transcript" not in kind:
                return ChunkText()
            channel = (kind.removesuffix(".delta"), *_place(told))
            return ChunkText(tuple(leaves(told.get("delta"), ("delta",), channel)))
        if kind in _ENDINGS:
            output = fields_of(told.get("response")).get("output")
            return ChunkText(whole=tuple(leaves(output, ("response", "output"))), ends=lambda _channel: True)
        return ChunkText(whole=tuple(_said(told)), ends=_ends(kind, _place(told)))

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        changes: dict[Route, Any] = dict(texts)
        if fields_of(chunk).get("logprobs"):
            changes["logprobs",] = []
        return with_texts(chunk, changes) if changes else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        return self.write(chunk, {leaf.route: text})


def _place(told: Mapping[str, Any]) -> tuple[Any, ...]:
    """Where an event's text belongs."""
    return tuple(told.get(name) for name in ("output_index", "content_index", "summary_index", "item_id"))


def _said(told: Mapping[str, Any]) -> Iterator[Leaf]:
    for name, value in told.items():
        if name not in ("type", "item_id", "response", "obfuscation", "logprobs"):
            yield from leaves(value, (name,), (name,))


def _ends(kind: str, place: tuple[Any, ...]) -> Any:
    """Which channels an event ends: its own, or all of an item."""
    if kind == "response.output_item.done":
        return lambda channel: channel[1] == place[0]
    if kind.endswith(".done"):
        own: Channel = (kind.removesuffix(".done"), *place)
        return lambda channel: channel == own
    return lambda _channel: False


RESPONSE_TEXTS = ResponseTexts()
