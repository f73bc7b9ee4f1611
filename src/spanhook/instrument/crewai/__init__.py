"""CrewAI: crews, flows, agents, what they delegate, models, tools.

Tools are gated where agents use them, before CrewAI's own cache, and where they run; models where they are called,
whatever they send their requests through.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Outlet, Point, Receiver, Signal

_HERE = "spanhook.instrument.crewai"


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "sync", optional: bool = False) -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"crewai.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides="." in name,
        optional=optional,
    )


def _signal(place: str, before: str, *, optional: bool = False) -> Signal:
    module, _, name = place.partition(":")
    return Signal(module=f"crewai.{module}", name=name, before=f"{_HERE}.{before}", optional=optional)


_NATIVE = "_execute_single_native_tool_call"


def _validating(place: str, receipt: str) -> Receiver:
    module, _, name = place.partition(":")
    return Receiver(
        module=f"crewai.{module}",
        name=name,
        receipt=f"{_HERE}.tool_bodies:{receipt}",
        wanted="spanhook.instrument.receivers:tools",
        returns=True,
    )


class CrewAIInstrumentor(Instrumentor):
    """Points of ``crewai``."""

    library = "crewai"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "run", "tool.execute"))
    table = (
        _point("llms.base_llm:BaseLLM.call", "models:MODEL", "models:chosen"),
        _point("llms.base_llm:BaseLLM.acall", "models:MODEL", "models:chosen", mode="async"),
        _point("llms.base_llm:BaseLLM._handle_tool_execution", "tools:EXECUTED_FUNCTION"),
        _point("llm:LLM._handle_tool_call", "tools:TOLD_FUNCTION"),
        _point("tools.base_tool:BaseTool.run", "tools:RUN"),
        _point("tools.base_tool:BaseTool.arun", "tools:RUN", mode="async"),
        _point("tools.structured_tool:CrewStructuredTool.invoke", "tools:INVOKED_TOOL"),
        _point("tools.structured_tool:CrewStructuredTool.ainvoke", "tools:INVOKED_TOOL", mode="async"),
        _validating("tools.base_tool:BaseTool._validate_kwargs", "VALIDATED"),
        _validating("tools.structured_tool:CrewStructuredTool._parse_args", "PARSED"),
        _point("tools.tool_usage:ToolUsage._use", "usage:USE", "usage:chosen"),
        _point("tools.tool_usage:ToolUsage._ause", "usage:USE", "usage:chosen", mode="async"),
        _point(f"agents.agent_executor:AgentExecutor.{_NATIVE}", "usage:NATIVE_USE", optional=True),
        _point(f"experimental.agent_executor:AgentExecutor.{_NATIVE}", "usage:NATIVE_USE", optional=True),
        _point(f"agents.crew_agent_executor:CrewAgentExecutor.{_NATIVE}", "usage:NATIVE_USE", optional=True),
        _point("utilities.agent_utils:execute_single_native_tool_call", "usage:STEP_USE"),
        _point("crew:Crew.kickoff", "runs:CREW", "runs:crew_chosen"),
        _point("crew:Crew.akickoff", "runs:CREW", "runs:crew_chosen", mode="async"),
        _point("flow.runtime:Flow.kickoff_async", "runs:FLOW", "runs:flow_chosen", mode="async"),
        _point("agents.agent_builder.base_agent:BaseAgent.execute_task", "runs:AGENT", "runs:task_chosen"),
        _point(
            "agents.agent_builder.base_agent:BaseAgent.aexecute_task", "runs:AGENT", "runs:task_chosen", mode="async"
        ),
        _point("agent.core:Agent.kickoff", "runs:ASKED_AGENT", "runs:kickoff_chosen"),
        _point("agent.core:Agent.kickoff_async", "runs:ASKED_AGENT", "runs:asked_chosen", mode="async"),
        _point("lite_agent:LiteAgent.kickoff", "runs:ASKED_AGENT", "runs:asked_chosen"),
        _point(
            "tools.agent_tools.base_agent_tools:BaseAgentTool._execute", "delegations:DELEGATION", "delegations:chosen"
        ),
        Outlet(
            module="crewai.agents.cache.cache_handler",
            name="CacheHandler.add",
            wanted="spanhook.instrument.caches:always",
            hold=f"{_HERE}.delegations:hold",
        ),
        _signal("agent.core:Agent._check_execution_error", "refusals:failed"),
        _signal("llms.base_llm:BaseLLM._track_token_usage_internal", "responses:counted"),
        _signal(
            "llms.providers.bedrock.completion:BedrockCompletion._track_token_usage_internal",
            "responses:counted",
            optional=True,  # it cannot be imported without boto3
        ),
        _signal("llms.base_llm:BaseLLM._emit_call_completed_event", "responses:completed"),
        Outlet(
            module="crewai.events.event_bus",
            name="CrewAIEventsBus.emit",
            wanted=f"{_HERE}.streams:wanted",
            hold=f"{_HERE}.streams:hold",
        ),
    )
