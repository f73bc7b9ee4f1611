"""Google's Agent Development Kit: runs, agents, models, tools, hand-offs, code, nodes of workflows.

Every way of running an agent ends in ``BaseAgent.run_async`` or ``run_live``; what a runner is asked is gated there,
before it is part of a session. Models are gated where the library calls them, whatever they send their requests
through, and tools at the method that agents, workflows and the application call.
"""

from typing import Any

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Point, Receiver, Signal

_HERE = "spanhook.instrument.google_adk"


def _point(place: str, adapter: str, choose: str = "", *, mode: str = "astream", **given: Any) -> Point:
    """A method; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"google.adk.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides="." in name,
        **given,
    )


def _retried(place: str, before: str) -> Signal:
    """A function that says whether something is to be tried again."""
    module, _, name = place.partition(":")
    return Signal(module=f"google.adk.{module}", name=name, before=f"{_HERE}.retries:{before}", optional=True)


class GoogleADKInstrumentor(Instrumentor):
    """Points of ``google-adk``."""

    library = "google_adk"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "run", "tool.execute", "workflow.step"))
    table = (
        _point("runners:Runner.run_async", "runs:RUN", "runs:chosen"),
        _point("runners:Runner.run_live", "runs:RUN", "runs:chosen"),
        _point("agents.base_agent:BaseAgent.run_async", "agents:AGENT", "agents:chosen"),
        _point("agents.base_agent:BaseAgent.run_live", "agents:AGENT", "agents:chosen"),
        _point("models.base_llm:BaseLlm.generate_content_async", "models:MODEL", "models:chosen"),
        _point("tools.base_tool:BaseTool.run_async", "tools:TOOL", "tools:chosen", mode="async"),
        _point("tools.function_tool:FunctionTool._call_live", "tools:LIVE", "tools:live_chosen", optional=True),
        _point(
            "flows.llm_flows.functions:_call_tool_in_thread_pool",
            "tools:TOOL",
            "tools:chosen",
            mode="async",
            optional=True,  # newer versions call the tool's method there
        ),
        Receiver(
            module="google.adk.tools.function_tool",
            name="FunctionTool._invoke_callable",
            receipt=f"{_HERE}.tool_bodies:FUNCTION",
            wanted="spanhook.instrument.receivers:tools",
        ),
        _point("code_executors.base_code_executor:BaseCodeExecutor.execute_code", "code:CODE", mode="sync"),
        _point(
            "workflow._llm_agent_wrapper:_dispatch_task_fc", "delegations:TASK", mode="async", optional=True
        ),  # from version 2 on, like the next
        _point("workflow._base_node:BaseNode.run", "steps:STEP", "steps:chosen", optional=True),
        _retried("workflow.utils._retry_utils:_should_retry_node", "no_failure_of_node"),
        _retried("models._fallback_model:FallbackModel._should_fall_back", "no_failure_of_model"),
    )
