"""OpenAI's Agents SDK: runs of agents, their models, tools and hand-offs; the results of their guardrails.

Runs end in ``AgentRunner.run`` and in the loop that ``run_streamed`` starts in a task. Models are gated where the SDK
calls them, whatever they send their requests through. Tools are gated at the functions that they hold, which the SDK
calls from agents, realtime sessions and wherever else.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.model import Held, Outlet, Point, Receiver, Signal

_HERE = "spanhook.instrument.openai_agents"
_RUN = "agents.run"
_LOOP = "agents.run_internal.run_loop"
_STEPS = "agents.run_internal.turn_resolution"
_MODEL = "agents.models.interface"
_TOOL = "agents.tool"


def _point(
    module: str, name: str, adapter: str, mode: str = "async", *, choose: str = "", optional: bool = False
) -> Point:
    return Point(
        module=module,
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides=module == _MODEL,
        optional=optional,
    )


def _held(name: str, adapter: str, choose: str = "", *, methods: tuple[str, ...] = (), optional: bool = False) -> Held:
    return Held(
        module=_TOOL,
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        methods=methods,
        optional=optional,
    )


class OpenAIAgentsInstrumentor(Instrumentor):
    """Points of ``openai-agents``."""

    library = "openai_agents"
    kinds = frozenset(("agent.invoke", "agent.delegate", "llm.call", "tool.execute"))
    table = (
        _point(_RUN, "AgentRunner.run", "runs:RUN"),
        _point(_LOOP, "start_streaming", "runs:STREAMED"),
        _point(_MODEL, "Model.get_response", "models:MODEL"),
        _point(_MODEL, "Model.stream_response", "models:STREAM", "astream"),
        _point(_LOOP, "run_single_turn", "turns:HANDED_OVER", choose="turns:turn"),
        _point(_LOOP, "run_single_turn_streamed", "turns:HANDED_OVER", choose="turns:turn"),
        _point(_STEPS, "resolve_interrupted_turn", "turns:HANDED_OVER", choose="turns:turn"),
        _point(_STEPS, "execute_handoffs", "handoffs:HANDOFF"),
        _point(_TOOL, "invoke_function_tool", "tools:INVOKED", choose="tools:invoked", optional=True),
        _point(_TOOL, "_invoke_function_tool_with_metadata", "tools:TIMED", choose="tools:timed", optional=True),
        _held("FunctionTool.on_invoke_tool", "tools:TOOL", "tools:held"),
        Receiver(
            module="agents.function_schema",
            name="FuncSchema.to_call_args",
            receipt=f"{_HERE}.tool_bodies:ARGUMENTS",
            wanted="spanhook.instrument.receivers:tools",
        ),
        _held("CustomTool.on_invoke_tool", "native_tools:CUSTOM", optional=True),
        _held("ShellTool.executor", "native_tools:SHELL"),
        _held("LocalShellTool.executor", "native_tools:LOCAL_SHELL"),
        _held("ApplyPatchTool.editor", "native_tools:PATCH", methods=("create_file", "update_file", "delete_file")),
        _point(
            "agents.run_internal.tool_actions", "ComputerAction._execute_action_and_capture", "native_tools:COMPUTER"
        ),
        Outlet(
            module="agents.tracing.provider",
            name="SynchronousMultiTracingProcessor.on_span_end",
            wanted=f"{_HERE}.traces:wanted",
            hold=f"{_HERE}.traces:hold",
        ),
        Signal(module=_RUN, name="AgentRunner.run_streamed", after=f"{_HERE}.runs:run_streamed"),
        Signal(
            module="agents.util._error_tracing", name="attach_error_to_current_span", before=f"{_HERE}.tools:failed"
        ),
        Signal(
            module="agents.exceptions",
            name="ToolTimeoutError.__init__",
            after=f"{_HERE}.tools:timed_out",
            optional=True,
        ),
        Signal(module="agents.guardrail", name="InputGuardrail.run", after=f"{_HERE}.guardrails:checked"),
        Signal(module="agents.guardrail", name="OutputGuardrail.run", after=f"{_HERE}.guardrails:checked"),
        Signal(
            module="agents.tool_guardrails", name="ToolInputGuardrail.run", after=f"{_HERE}.guardrails:tool_checked"
        ),
        Signal(
            module="agents.tool_guardrails", name="ToolOutputGuardrail.run", after=f"{_HERE}.guardrails:tool_checked"
        ),
    )
