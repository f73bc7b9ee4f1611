"""OpenAI's SDK, including other providers used through it: chat, responses, completions, decisions, embeddings."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import points_of

_HERE = "spanhook.instrument.openai"


class OpenAIInstrumentor(Instrumentor):
    """Points of ``openai``."""

    library = "openai"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = points_of("openai", f"{_HERE}.paths:CHAT", f"{_HERE}.paths:choose")
