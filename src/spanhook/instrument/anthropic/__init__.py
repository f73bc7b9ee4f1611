"""Anthropic's SDK, for Anthropic itself and the platforms that its clients support: messages, and batches of them."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import transport

_HERE = "spanhook.instrument.anthropic"


class AnthropicInstrumentor(Instrumentor):
    """Points of ``anthropic``."""

    library = "anthropic"
    kinds = frozenset(("llm.call",))
    table = transport("anthropic", f"{_HERE}.messages:MESSAGES", f"{_HERE}.messages:choose")
