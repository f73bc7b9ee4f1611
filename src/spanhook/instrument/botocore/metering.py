"""What Bedrock itself has counted, beside what models say: in headers, and in the last chunk of a stream."""

from typing import Any

from spanhook.instrument.wire import Fields, fields_of
from spanhook.model import Attributes, Chunks, Usage

METRICS = "amazon-bedrock-invocationMetrics"
"""The key of a chunk with what has been counted."""
_COUNTS = {
    "input_tokens": ("inputTokenCount", "x-amzn-bedrock-input-token-count"),
    "output_tokens": ("outputTokenCount", "x-amzn-bedrock-output-token-count"),
    "cache_read_tokens": ("cacheReadInputTokenCount", "x-amzn-bedrock-cache-read-input-token-count"),
    "cache_write_tokens": ("cacheWriteInputTokenCount", "x-amzn-bedrock-cache-write-input-token-count"),
}
Told = tuple[Attributes, Usage | None]


def metered(told: Told, counts: Fields) -> Told:
    """What a model said, with the counted usage if it reported none, or that is only estimated.

    Args:
        told: End attributes and usage.
        counts: What has been counted: metrics, or headers.
    """
    attributes, used = told
    if used is not None and not used.estimated:
        return told
    found = Usage()
    any_found = False
    for name, places in _COUNTS.items():
        value = next((counts[place] for place in places if place in counts), None)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if value is not None:
            any_found = True
            setattr(found, name, found.count(value, name))
    if not any_found:
        return told
    found.input_tokens += found.cache_read_tokens + found.cache_write_tokens
    return attributes, found


class Metered:
    """Adds up the JSON of chunks, of which the last may have what has been counted.

    Args:
        chunks: Adds up what the model says.
    """

    __slots__ = ("_chunks", "_counts")

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = chunks
        self._counts: Fields = {}

    @property
    def keep(self) -> bool:
        return self._chunks.keep

    @keep.setter
    def keep(self, value: bool) -> None:
        self._chunks.keep = value

    @property
    def complete(self) -> bool:
        return self._chunks.complete

    def add(self, chunk: Any) -> bool:
        counts = fields_of(chunk).get(METRICS)
        if counts is not None:
            self._counts = fields_of(counts)
        return self._chunks.add(chunk)

    def response(self) -> Told:
        return metered(self._chunks.response(), self._counts)

    def result(self) -> Any:
        return self._chunks.result()
