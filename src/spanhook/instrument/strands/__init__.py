"""Strands Agents: runs of agents, graphs and swarms, their models, tools and hand-offs.

Every way of running an agent ends in ``Agent.stream_async``. Models are gated where the library calls them, whatever
they send their requests through, and tools at the method that agents, other tools and ``agent.tool`` call.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point, Receiver, Signal

_HERE = "spanhook.instrument.strands"


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "astream") -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"strands.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=True,
    )


class StrandsInstrumentor(Instrumentor):
    """Points of ``strands-agents``."""

    library = "strands"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "run", "tool.execute"))
    table = (
        _point("agent.agent:Agent.stream_async", "runs:RUN", "runs:chosen"),
        _point("agent.agent:Agent.structured_output_async", "runs:OUTPUT", "runs:output_chosen", mode="async"),
        _point("models.model:Model.stream", "models:MODEL"),
        _point("models.model:Model.structured_output", "models:OUTPUT"),
        _point("types.tools:AgentTool.stream", "tools:TOOL", "tools:chosen"),
        Receiver(
            module="strands.tools.decorator",
            name="FunctionToolMetadata.validate_input",
            receipt=f"{_HERE}.tool_bodies:VALIDATED",
            wanted="spanhook.instrument.receivers:tools",
            returns=True,
        ),
        _point("multiagent.base:MultiAgentBase.stream_async", "teams:TEAM", "teams:chosen"),
        _point("multiagent.swarm:Swarm._handle_handoff", "teams:HANDOFF", "teams:handoff_chosen", mode="sync"),
        Signal(
            module="strands.models.routing.router",
            name="ModelRouter._advance",
            before=f"{_HERE}.routing:failed",
            optional=True,
        ),
    )
