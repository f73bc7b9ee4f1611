"""What one library below an operation's own library reports of the same call."""

from typing import final

from spanhook.model.streaming import Chunks
from spanhook.model.usage import Source, Usage


@final
class LayerCount:
    """What the transport of an operation reports of its use.

    Attributes:
        layer: The library's layer. Each layer reports all of the call, in one or several parts.
        source: How certain its counts are at best.
        usage: What its result reports; ``None`` if that is nothing, or in a stream.
        chunks: What adds up its stream; ``None`` if it has none.
        failed: Its stream has failed, so another attempt may take its place.
    """

    __slots__ = ("chunks", "failed", "layer", "source", "usage")

    def __init__(self, layer: str, source: Source, usage: Usage | None, chunks: Chunks | None = None) -> None:
        self.source: Source = source
        self.layer, self.usage, self.chunks = layer, usage, chunks
        self.failed = False
