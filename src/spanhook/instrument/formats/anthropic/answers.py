"""Answers from Anthropic: usage, and streams, whose events are added up or, for a hook's answer, generated."""

import json
from collections.abc import Callable, Iterator
from typing import Any

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
    plain,
    responses,
    text_of,
    usage_in_stream,
    usage_places,
)
from spanhook.model import Attributes, Usage

_USAGE = usage_places(
    input_tokens="input_tokens",
    output_tokens="output_tokens",
    cache_read_tokens="cache_read_input_tokens",
    cache_write_tokens="cache_creation_input_tokens",
    cache_hour_tokens="cache_creation.ephemeral_1h_input_tokens",
    reasoning_tokens="output_tokens_details.thinking_tokens",
)
_APART = ("compaction", "advisor_message")
"""Iterations missing from the other counts; the counts are the sum of all others."""
_DELTAS = {"text": "text_delta", "thinking": "thinking_delta", "signature": "signature_delta"}
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_OPAQUE = ("signature", "encrypted_content")
"""Blocks that no model has written."""
_EMPTY = {"text": "", "thinking": "", "signature": "", "input": {}}


def _usage_of(reported: Any) -> Usage | None:
    """Usage in the conventions' terms: input includes tokens read from and written to the cache."""
    used = counted(reported, _USAGE)
    if used is None:
        return None
    used.input_tokens += used.cache_read_tokens + used.cache_write_tokens
    for one in list_of(fields_of(reported).get("iterations")):
        more = _usage_of(one) if fields_of(one).get("type") in _APART else None
        if more is not None:
            used.add(more)
            model = text_of(fields_of(one).get("model"))
            if model:  # an advisor's usage, which is priced separately
                used.apart = (*used.apart, (model, more))
    return bounded(used)


response_of = responses(_usage_of, "stop_reason")


def message_events(message: Payload) -> Iterator[Event]:
    """The events that a stream of this message would have sent."""

    def event(kind: str, **data: Any) -> Event:
        return kind, {"type": kind, **data}

    yield event("message_start", message={**message, "content": [], "stop_reason": None, "stop_sequence": None})
    for index, block in enumerate(message["content"]):
        begun = {key: _EMPTY.get(key, value) for key, value in block.items()}
        yield event("content_block_start", index=index, content_block=begun)
        deltas = [{"type": kind, name: block[name]} for name, kind in _DELTAS.items() if block.get(name)]
        if "input" in block:
            deltas.append({"type": "input_json_delta", "partial_json": json.dumps(block["input"])})
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    yield event("message_delta", delta=ending, usage=message["usage"])
    yield event("message_stop")


class MessageChunks:
    """Counts the characters of a stream until its end reports usage; keeps the blocks only if ``keep``.

    Args:
        body: The request.
        construct: Creates the whole from JSON.
    """

    def __init__(self, body: Fields, construct: Construct) -> None:
        self.keep = self.complete = self._counted = self._known = False
        self._body, self._construct, self._characters = body, construct, 0
        self._told: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}

    @property
    def brief(self) -> Callable[[Any], bool] | None:
        """Reads a piece of text, of thought or of a tool's input, as most events are; false for any other."""
        return self._adds if self._known and not self.complete else None

    def _adds(self, chunk: Any) -> bool:
        try:
            fields = chunk.__dict__
            if fields["type"] == "content_block_delta":
                delta = fields["delta"].__dict__
                name = _PIECES[delta["type"]]
                piece = delta[name]
                if type(piece) is str and len(delta) == 2:  # with the type
                    if self.keep:
                        self._blocks[fields["index"]][name] += piece
                    self._characters += len(piece)
                    return True
        except (AttributeError, KeyError, TypeError):
            pass
        return False

    def add(self, chunk: Any) -> bool:
        told = fields_of(chunk)
        kind = told.get("type")
        if kind == "content_block_delta":
            self._known = told is not chunk  # a model of the SDK's
            self._grow(index_of(told), told.get("delta"))
        elif kind == "content_block_start" and self.keep:
            self._blocks[index_of(told)] = plain(told["content_block"])
        elif kind == "message_start":
            begun = told.get("message")
            self._hear(begun, fields_of(begun).get("usage"))
        elif kind == "message_delta":
            self._hear(told.get("delta"), told.get("usage"))
            self._counted = told.get("usage") is not None
        self.complete = kind == "message_stop"
        return True

    def _hear(self, said: Any, usage: Any) -> None:
        """Counts are running totals: if one is missing, or 0 after tokens were counted, it has not changed. The
        consumer may edit the event.
        """
        self._told.update(fields_of(said))
        counts = fields_of(as_reported(usage))
        self._usage.update({name: count for name, count in counts.items() if count != 0 or not self._usage.get(name)})

    def _grow(self, index: int, delta: Any) -> None:
        for name in ("text", "thinking", "partial_json", "content", *_OPAQUE):
            more = fields_of(delta).get(name)
            if isinstance(more, str):
                self._characters += len(more) if name not in _OPAQUE else 0
                if self.keep:
                    block = self._blocks.setdefault(index, {"type": "text"})
                    block[name] = (block.get(name) or "") + more
        cited = fields_of(delta).get("citation")
        if cited is not None and self.keep:
            block = self._blocks.setdefault(index, {"type": "text"})
            block["citations"] = [*(block.get("citations") or ()), as_reported(cited)]

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = response_of({**self._told, "usage": self._usage})
        is_whole = self._counted and (self.complete or bool(self._told.get("stop_reason")))
        return attributes, usage_in_stream(used, self._body, self._characters, is_whole=is_whole)

    def result(self) -> Any:
        blocks = [dict(block) for _, block in sorted(self._blocks.items())]
        for block in blocks:
            written = block.pop("partial_json", "")
            if written:  # nothing is sent for a tool without arguments
                block["input"] = decoded(written)
        return self._construct({**self._told, "usage": self._usage, "content": blocks})
