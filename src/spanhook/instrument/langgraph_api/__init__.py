"""LangGraph's API server: the runs that it serves.

A run is decided about where it is created, inside the request that asks for it, so that a refusal reaches the client
with its status; every route, event streaming and the scheduler of crons create runs with the same function. It is
executed later, by a worker that asks again only if nothing was decided, such as one in another process.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Block

_HERE = "spanhook.instrument.langgraph_api"


def _block(module: str, name: str, drive: str) -> Block:
    return Block(module=f"langgraph_api.{module}", name=name, adapter=f"{_HERE}.run:RUN", drive=f"{_HERE}.{drive}")


class LangGraphAPIInstrumentor(Instrumentor):
    """Points of ``langgraph_api``."""

    library = "langgraph_api"
    kinds = frozenset(("run",))
    table = (
        _block("models.run", "create_valid_run", "creating:create"),
        _block("stream", "astream_state", "executing:stream"),
    )
