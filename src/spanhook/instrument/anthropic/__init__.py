"""Anthropic's SDK, for Anthropic itself and the platforms that its clients support: messages, and batches of them."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import points_of

_HERE = "spanhook.instrument.anthropic"


class AnthropicInstrumentor(Instrumentor):
    """Points of ``anthropic``."""

    library = "anthropic"
    kinds = frozenset(("llm.call",))
    table = points_of("anthropic", f"{_HERE}.apis:MESSAGES", f"{_HERE}.apis:choose")
