"""Microsoft Agent Framework: runs of agents, models, tools, workflows and hand-offs.

Models are gated where chat clients call them, below the library's own middleware and its loop that calls tools, so that
each call is one operation, and a middleware that answers in place of a model is none. Agents and workflows are gated
where they are called, above all of their middleware.
"""

from typing import Any

from spanhook.instrument.agent_framework.control import control
from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point, Receiver

_HERE = "spanhook.instrument.agent_framework"
OWN = ("agent_framework", "agent_framework_foundry_local", "agent_framework_openai")
"""The library's packages in which clients override ``get_response``: they pass on what they are asked."""


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "async", **given: Any) -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"agent_framework{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=True,
        **given,
    )


class AgentFrameworkInstrumentor(Instrumentor):
    """Points of ``agent-framework-core``, and of its package of orchestrations."""

    library = "agent_framework"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "run", "tool.execute"))
    control = staticmethod(control)
    table = (
        _point("._agents:BaseAgent.run", "runs:RUN", "runs:chosen", below=True),
        _point("._clients:BaseChatClient._inner_get_response", "models:MODEL", "clients:inner_chosen"),
        _point("._clients:BaseChatClient.get_response", "clients:CLIENT", "clients:chosen", outside=OWN),
        _point("._agents:RawAgent._call_chat_client", "others:OTHER", "others:chosen"),
        _point("._tools:FunctionTool.invoke", "tools:TOOL", "tools:chosen"),
        Receiver(
            module="agent_framework._tools",
            name="FunctionTool._invoke_function",
            receipt=f"{_HERE}.tool_bodies:FUNCTION",
            wanted="spanhook.instrument.receivers:tools",
            optional=True,
        ),
        _point("._tools:FunctionTool.__call__", "tools:CALL", "tools:call_chosen", mode="sync"),
        _point("._workflows._workflow:Workflow.run", "workflows:RUN", "workflows:chosen"),
        _point(
            "._workflows._functional:FunctionalWorkflow.run",
            "workflows:RUN",
            "workflows:chosen",
            optional=True,
        ),
        _point(
            "_orchestrations._handoff:_AutoHandoffMiddleware.process",
            "handoffs:HANDOFF",
            "handoffs:chosen",
            optional=True,
        ),
    )
