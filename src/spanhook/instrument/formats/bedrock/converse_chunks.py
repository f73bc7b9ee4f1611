"""The streams of Converse: adding up their events, the text in these, and writing a hook's answer as events."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from spanhook import semconv
from spanhook.instrument.wire import (
    Construct,
    Event,
    Fields,
    Payload,
    as_reported,
    bounded,
    counted,
    decoded,
    fields_of,
    index_of,
    list_of,
    text_of,
    usage_in_stream,
    usage_places,
)
from spanhook.model import Attributes, ChunkText, Leaf, Route, Usage, leaves, nested, with_texts

_USAGE = usage_places(
    input_tokens="inputTokens",
    output_tokens="outputTokens",
    cache_read_tokens="cacheReadInputTokens",
    cache_write_tokens="cacheWriteInputTokens",
)
_NOVA = {"cache_read_tokens": "cacheReadInputTokenCount", "cache_write_tokens": "cacheWriteInputTokenCount"}
"""The names of counts that Nova models use instead in bodies of their own."""
_NO_TEXT = frozenset(("image", "redactedContent", "signature"))


def usage_of(reported: Any) -> Usage | None:
    """Usage in the conventions' terms: input includes tokens read from and written to the cache."""
    told = fields_of(reported)
    used = counted(reported, _USAGE)
    if used is None:
        return None
    for name, place in _NOVA.items():
        if told.get(place):
            setattr(used, name, used.count(told[place], name))
    used.input_tokens += used.cache_read_tokens + used.cache_write_tokens
    for detail in map(fields_of, list_of(told.get("cacheDetails"))):
        if detail.get("ttl") == "1h":
            used.cache_hour_tokens += used.count(detail.get("inputTokens"), "cache_hour_tokens")
    return bounded(used)


def response_of(told: Fields) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of an answer, or of what its events have told."""
    attributes: Attributes = {}
    reason = text_of(told.get("stopReason"))
    if reason:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    model = text_of(fields_of(fields_of(told.get("trace")).get("promptRouter")).get("invokedModelId"))
    if model:  # the one that a router has chosen
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = model
    return attributes, usage_of(told.get("usage"))


class ConverseChunks:
    """Counts the characters of a stream until its end reports usage; keeps the blocks only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
    """

    def __init__(self, body: Fields, construct: Construct) -> None:
        self.keep = self.complete = False
        self._body, self._construct, self._characters = body, construct, 0
        self._told: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, chunk: Any) -> bool:
        for name, event in fields_of(chunk).items():
            told = fields_of(event)
            if name == "contentBlockDelta":
                self._grow(index_of(told, "contentBlockIndex"), fields_of(told.get("delta")))
            elif name == "contentBlockStart" and self.keep:
                self._blocks[index_of(told, "contentBlockIndex")] = dict(fields_of(told.get("start")))
            elif name in ("messageStart", "messageStop", "metadata"):
                self._told.update(fields_of(as_reported(told)))
                self.complete = self.complete or name != "messageStart"
        return True

    def _grow(self, index: int, delta: Fields) -> None:
        reasoning = fields_of(delta.get("reasoningContent"))
        given = fields_of(delta.get("toolUse")).get("input")
        said = delta.get("text") or reasoning.get("text") or given
        self._characters += len(said) if isinstance(said, str) else 0
        if not self.keep:
            return
        block = self._blocks.setdefault(index, {})
        if isinstance(delta.get("text"), str):
            block["text"] = block.get("text", "") + delta["text"]
        elif isinstance(given, str):
            call = block["toolUse"] = dict(fields_of(block.get("toolUse")))
            call["input"] = call.get("input", "") + given
        elif reasoning:
            thought = block.setdefault("reasoningContent", {}).setdefault("reasoningText", {})
            for name in ("text", "signature"):
                if isinstance(reasoning.get(name), str):
                    thought[name] = thought.get(name, "") + reasoning[name]

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = response_of(self._told)
        return attributes, usage_in_stream(used, self._body, self._characters)

    def result(self) -> Any:
        content: list[dict[str, Any]] = []
        for _, block in sorted(self._blocks.items()):
            call = fields_of(block.get("toolUse"))
            content.append({"toolUse": {**call, "input": decoded(call.get("input") or "{}")}} if call else block)
        message = {"role": self._told.get("role") or "assistant", "content": content}
        told = {name: value for name, value in self._told.items() if name != "role"}
        return self._construct({"output": {"message": message}, **told})


class ConverseTexts:
    """Texts of events, each of which belongs to one block."""

    def read(self, chunk: Any) -> ChunkText:
        told = fields_of(chunk)
        if "contentBlockDelta" in told:
            event = fields_of(told["contentBlockDelta"])
            index = index_of(event, "contentBlockIndex")
            grows, whole = list[Leaf](), list[Leaf]()
            for leaf in _said(event.get("delta"), ("contentBlockDelta", "delta"), (index,)):
                (whole if "citation" in leaf.channel else grows).append(leaf)
            return ChunkText(grows, whole)
        if "contentBlockStop" in told:
            index = index_of(fields_of(told["contentBlockStop"]), "contentBlockIndex")
            return ChunkText(ends=lambda channel: channel[0] == index)
        whole = [
            leaf
            for event, name in (("messageStop", "additionalModelResponseFields"), ("metadata", "trace"))
            for leaf in _said(fields_of(told.get(event)).get(name), (event, name), (event,))
        ]
        return ChunkText(whole=whole, ends=lambda _channel: "messageStop" in told)

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        return with_texts(chunk, texts) if texts else chunk

    def more(self, chunk: Any, leaf: Leaf, text: str) -> Any:
        if "contentBlockDelta" in chunk:
            return self.write(chunk, {leaf.route: text})
        index, *inside = leaf.channel
        return {"contentBlockDelta": {"delta": nested(inside, text), "contentBlockIndex": index}}


def _said(value: Any, route: Route, channel: tuple[Any, ...]) -> Iterator[Leaf]:
    """The texts in JSON without the bytes that it may have in certain places."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in _NO_TEXT:
                yield from _said(one, (*route, name), (*channel, name))
    else:
        yield from leaves(value, route, channel)


def converse_events(payload: Payload) -> Iterator[Event]:
    """The events that a stream of this answer would have sent."""

    def event(kind: str, **data: Any) -> Event:
        return "", {kind: data}

    message = payload["output"]["message"]
    yield event("messageStart", role=message.get("role") or "assistant")
    for index, block in enumerate(message["content"]):
        call, thought = fields_of(block.get("toolUse")), fields_of(block.get("reasoningContent"))
        deltas: list[Payload] = [{"text": block["text"]}] if "text" in block else []
        if call:
            begun = {name: call[name] for name in ("toolUseId", "name") if name in call}
            yield event("contentBlockStart", start={"toolUse": begun}, contentBlockIndex=index)
            deltas = [{"toolUse": {"input": json.dumps(call.get("input"))}}]
        elif thought:
            told = fields_of(thought.get("reasoningText"))
            deltas = [{"reasoningContent": {name: value}} for name, value in told.items()]
        for delta in deltas:
            yield event("contentBlockDelta", delta=delta, contentBlockIndex=index)
        yield event("contentBlockStop", contentBlockIndex=index)
    yield event("messageStop", stopReason=payload["stopReason"])
    known = {name: payload[name] for name in ("usage", "metrics", "trace") if name in payload}
    yield event("metadata", **known)
