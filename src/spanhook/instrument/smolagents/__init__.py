"""smolagents: runs of agents, their models, tools, code and managed agents.

Models are gated where agents call them, whatever they send their requests through. Tools are gated where an agent, the
code that a model has written, or another tool calls them; the code itself is gated before it is executed.
"""

from typing import Any

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point, Signal

_HERE = "spanhook.instrument.smolagents"


def _point(
    place: str, adapter: str, choose: str = "", *, mode: str = "sync", below: bool = False, **given: Any
) -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"smolagents.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=True,
        below=below,
        **given,
    )


class SmolagentsInstrumentor(Instrumentor):
    """Points of ``smolagents``."""

    library = "smolagents"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "tool.execute"))
    table = (
        _point("agents:MultiStepAgent.run", "runs:RUN", "runs:chosen"),
        _point("agents:MultiStepAgent.__call__", "delegations:DELEGATION"),
        _point("models:Model.generate", "models:MODEL"),
        _point("models:Model.generate_stream", "models:STREAM", mode="stream", below=True),
        _point(
            "tools:BaseTool.__call__",
            "tools:TOOL",
            "tools:base_chosen",
            below=True,
            outside=("smolagents",),
            optional=True,
        ),
        _point("tools:Tool.__call__", "tools:TOOL"),
        _point("tools:Tool.forward", "tools:TOOL", "tools:forward_chosen"),
        _point("local_python_executor:PythonExecutor.__call__", "code:CODE", below=True),
        Signal(
            module="smolagents.models",
            name="is_rate_limit_error",
            before=f"{_HERE}.retries:no_rate_limit",
            optional=True,
        ),
    )
