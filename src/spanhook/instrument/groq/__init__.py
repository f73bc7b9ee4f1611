"""Groq's SDK: OpenAI's chat completions, embeddings, sound and batches."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.stainless import points_of

_HERE = "spanhook.instrument.groq"


class GroqInstrumentor(Instrumentor):
    """Points of ``groq``."""

    library = "groq"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = points_of("groq", f"{_HERE}.apis:CHAT", f"{_HERE}.apis:choose")
