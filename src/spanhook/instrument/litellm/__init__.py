"""LiteLLM: its functions that call a model, whichever provider's, and its router."""

from collections.abc import Iterator

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point

_HERE = "spanhook.instrument.litellm"

#: Modules and functions by the name of their adapter; the async version of a function begins with ``a``. Newer versions
#: have a second function of the same name in front, which may pass a call on to code that is not Python.
_FUNCTIONS = (
    ("CHAT", "chat", "completion", "main", "chat_completions.dispatch"),
    ("TEXT", "text", "text_completion", "main"),
    ("EMBEDDINGS", "embeddings", "embedding", "main", "embeddings.dispatch"),
    ("RESPONSES", "responses", "responses", "responses.main", "responses.dispatch"),
    ("IMAGES", "images", "image_generation", "images.main"),
    ("EDITS", "edits", "image_edit", "images.main"),
    ("VARIATIONS", "variations", "image_variation", "images.main"),
    ("SPEECH", "speech", "speech", "main"),
    ("TRANSCRIPTION", "transcription", "transcription", "main"),
    ("MODERATION", "moderation", "moderation", "main"),
)


def _points() -> Iterator[Point]:
    for adapter, choose, function, *modules in _FUNCTIONS:
        for module in modules:
            for prefix, mode in (("", "sync"), ("a", "async")):
                yield Point(
                    module=f"litellm.{module}",
                    name=f"{prefix}{function}",
                    adapter=f"{_HERE}.apis:{adapter}",
                    choose=f"{_HERE}.apis:{prefix}{choose}",
                    mode=mode,
                    optional=module.endswith("dispatch"),
                )


class LiteLLMInstrumentor(Instrumentor):
    """Points of ``litellm``."""

    library = "litellm"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = tuple(_points())
