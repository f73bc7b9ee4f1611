"""fast-agent: runs of agents, their models and tools, and the beginning and end of their lives.

Every message to an agent goes through ``generate`` or ``structured`` of its base class, whatever kind of agent it is;
workflows and agents that are tools of others call these too. Models are gated where agents call them, whatever they
send their requests through. Lifecycle operations stand where the library runs an agent's own hooks, which it goes on to
run itself: at the end of a start, and before anything is closed at a shutdown.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Outlet, Point

_HERE = "spanhook.instrument.fast_agent"
_BASE = "agents.llm_decorator"
_CHILDREN = "agents.workflow.agents_as_tools_agent"
_MODEL = "llm.fastagent_llm"


def _point(module: str, name: str, adapter: str, *, choose: str = "", optional: bool = False) -> Point:
    return Point(
        module=f"fast_agent.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode="async",
        overrides=True,
        optional=optional,
    )


def _outlet(name: str, hold: str) -> Outlet:
    return Outlet(
        module=f"fast_agent.{_MODEL}", name=name, wanted=f"{_HERE}.listeners:wanted", hold=f"{_HERE}.listeners:{hold}"
    )


class FastAgentInstrumentor(Instrumentor):
    """Points of ``fast-agent-mcp``."""

    library = "fast_agent"
    kinds = frozenset(("agent.invoke", "agent.lifecycle", "llm.call", "tool.execute"))
    table = (
        _point(_BASE, "LlmDecorator._run_lifecycle_hook", "lifecycle:START", choose="lifecycle:chosen"),
        _point(_BASE, "LlmDecorator.generate", "agents:GENERATE"),
        _point(_BASE, "LlmDecorator.structured", "agents:STRUCTURED"),
        _point(_BASE, "LlmDecorator.structured_schema", "agents:STRUCTURED"),
        _point(_BASE, "LlmDecorator.apply_prompt", "prompts:RUN_PROMPT", choose="prompts:chosen_run"),
        _point(_MODEL, "FastAgentLLM.generate", "models:GENERATE", choose="models:chosen"),
        _point(_MODEL, "FastAgentLLM.structured", "models:STRUCTURED"),
        _point(_MODEL, "FastAgentLLM.apply_prompt_template", "prompts:MODEL_PROMPT", choose="prompts:chosen_model"),
        _point("agents.tool_agent", "ToolAgent.call_tool", "tools:TOOL"),
        _point("agents.mcp_agent", "McpAgent._dispatch_tool_call", "tools:TOOL", optional=True),
        _point(_CHILDREN, "AgentsAsToolsAgent._run_child_tool_clone", "tools:CHILD_AGENT"),
        _point(_CHILDREN, "AgentsAsToolsAgent._invoke_child_agent", "tools:CHILD_AGENT"),
        _outlet("FastAgentLLM._notify_stream_listeners", "hold"),
        _outlet("FastAgentLLM._notify_tool_stream_listeners", "hold"),
    )
