"""OpenAI's SDK, and whatever speaks its protocol through it: chat, responses, completions, decisions, embeddings.

The points stand at the transport methods that every path ends in, so bound methods, raw-response wrappers, helpers and
clients made earlier are gated too; what a call is, is told by its path.
"""

from spanhook.instrument.engine import Instrumentor
from spanhook.shape import Point

_HERE = "spanhook.instrument.openai"
_CLIENT = "openai._base_client"


def _point(name: str, mode: str) -> Point:
    return Point(
        module=_CLIENT,
        name=name,
        shape=f"{_HERE}.chat:CHAT",
        choose=f"{_HERE}.paths:choose",
        mode=mode,
        overrides=True,
    )


class OpenAIInstrumentor(Instrumentor):
    """Points of ``openai``."""

    library = "openai"
    requirement = "openai >= 1.109, < 4"
    kinds = frozenset(("llm.call", "embeddings.create"))
    table = (
        _point("SyncAPIClient.request", "sync"),
        _point("AsyncAPIClient.request", "async"),
    )
