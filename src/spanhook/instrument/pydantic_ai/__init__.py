"""Pydantic AI: runs of agents, their models, and their tools.

Every way of running an agent ends in ``Agent.iter``, a context manager whose block is the run. Models are gated where
the library calls them, whatever they send their requests through, and tools where it calls a toolset.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.pydantic_ai.control import control
from spanhook.model import Point

_HERE = "spanhook.instrument.pydantic_ai"


def _point(module: str, name: str, adapter: str, mode: str, *, choose: str = "", overrides: bool = True) -> Point:
    return Point(
        module=f"pydantic_ai.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=overrides,
    )


class PydanticAIInstrumentor(Instrumentor):
    """Points of ``pydantic-ai-slim``."""

    library = "pydantic_ai"
    kinds = frozenset(("agent.invoke", "llm.call", "tool.execute"))
    control = staticmethod(control)
    table = (
        _point("agent", "Agent.iter", "runs:RUN", "acontext", overrides=False),
        _point("models", "Model.request", "models:MODEL", "async", choose="models:chosen"),
        _point("models", "Model.request_stream", "models:STREAM", "acontext", choose="models:chosen_stream"),
        _point("toolsets.abstract", "AbstractToolset.call_tool", "tools:TOOL", "async", choose="tools:chosen"),
    )
