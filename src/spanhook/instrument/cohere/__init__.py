"""Cohere's SDK: both versions of its API, also on the platforms that its clients support."""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point

_HERE = "spanhook.instrument.cohere.apis"


def _point(name: str, mode: str) -> Point:
    return Point(
        module="cohere.core.http_client",
        name=name,
        adapter=f"{_HERE}:{'CHAT' if name.endswith('request') else 'CHAT_STREAM'}",
        choose=f"{_HERE}:{'choose' if name.endswith('request') else 'choose_stream'}",
        mode=mode,
        overrides=True,
    )


class CohereInstrumentor(Instrumentor):
    """Points of ``cohere``: the methods of its transport that all clients call."""

    library = "cohere"
    kinds = frozenset(("embeddings.create", "llm.call"))
    table = (
        _point("HttpClient.request", "sync"),
        _point("HttpClient.stream", "manager"),
        _point("AsyncHttpClient.request", "async"),
        _point("AsyncHttpClient.stream", "amanager"),
    )
