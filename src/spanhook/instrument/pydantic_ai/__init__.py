"""Pydantic AI: runs of agents, models, tools, output functions, embeddings.

Every way of running an agent ends in ``Agent.iter``, a context manager whose block is the run. Models are gated where
the library calls them, whatever they send their requests through, and tools where it calls a toolset.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.pydantic_ai.control import control
from spanhook.model import Point

_HERE = "spanhook.instrument.pydantic_ai"


def _point(
    module: str,
    name: str,
    adapter: str,
    mode: str = "async",
    *,
    choose: str = "",
    overrides: bool = True,
    optional: bool = False,
) -> Point:
    return Point(
        module=f"pydantic_ai.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=overrides,
        optional=optional,
    )


class PydanticAIInstrumentor(Instrumentor):
    """Points of ``pydantic-ai-slim``."""

    library = "pydantic_ai"
    kinds = frozenset(("agent.invoke", "embeddings.create", "llm.call", "tool.execute"))
    control = staticmethod(control)
    table = (
        _point("agent", "Agent.iter", "runs:RUN", "acontext", overrides=False),
        _point("models", "Model.request", "models:MODEL", choose="models:chosen"),
        _point("models", "Model.request_stream", "models:STREAM", "acontext", choose="models:chosen_stream"),
        _point("toolsets.abstract", "AbstractToolset.call_tool", "tools:TOOL", choose="tools:chosen"),
        _point("_output", "execute_output_function", "outputs:OUTPUT", overrides=False, optional=True),
        _point("_output", "execute_traced_output_function", "outputs:OUTPUT", overrides=False, optional=True),
        _point(
            "embeddings.base", "EmbeddingModel.embed", "embeddings:EMBED", choose="embeddings:chosen", optional=True
        ),
    )
