"""LlamaIndex: runs of agents and of workflows, hand-offs, models, tools.

Runs are gated in the loop that every workflow ends in, models at the methods by which they are asked, whatever they
send their requests through, and tools at those by which they are called.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.llama_index.control import control
from spanhook.model import Outlet, Point, Signal

_HERE = "spanhook.instrument.llama_index"
_AGENTS = "core.agent.workflow"


def _point(
    place: str, adapter: str, choose: str = "", *, mode: str = "sync", below: bool = False, optional: bool = False
) -> Point:
    """A method, or a function; ``place`` is ``module:Class.method``."""
    module, _, name = place.partition(":")
    return Point(
        module=f"llama_index.{module}",
        name=name,
        adapter=f"{_HERE}.{adapter}",
        choose=f"{_HERE}.{choose}" if choose else "",
        mode=mode,
        overrides="." in name,
        below=below,
        decorator="llama_index_instrumentation",
        optional=optional,
    )


def _models(base: str) -> tuple[Point, ...]:
    """The methods of a base class of models."""
    methods = (
        ("chat", "MODEL", "chat_chosen"),
        ("stream_chat", "STREAM", "stream_chosen"),
        ("complete", "COMPLETION", "completion_chosen"),
        ("stream_complete", "COMPLETION_STREAM", "completion_stream_chosen"),
        ("achat", "MODEL", "chat_chosen"),
        ("astream_chat", "ASYNC_STREAM", "async_stream_chosen"),
        ("acomplete", "COMPLETION", "completion_chosen"),
        ("astream_complete", "ASYNC_COMPLETION_STREAM", "async_completion_stream_chosen"),
    )
    return tuple(
        _point(
            f"{base}.{name}",
            f"models:{adapter}",
            f"models:{chosen}",
            mode="async" if name.startswith("a") else "sync",
        )
        for name, adapter, chosen in methods
    )


def _loop(module: str) -> Point:
    """The loop of workflows, which is private, and in a module of its own in newer versions."""
    return Point(
        module=f"workflows.runtime.{module}",
        name="_ControlLoopRunner.run",
        adapter=f"{_HERE}.flows:FLOW",
        choose=f"{_HERE}.choosing:chosen",
        mode="async",
        either="the loop of workflows",
    )


def _outlet(module: str, name: str, hold: str) -> Outlet:
    return Outlet(module=module, name=name, wanted=f"{_HERE}.native:wanted", hold=f"{_HERE}.native:{hold}")


_TOOLS = "core.tools.types"


class LlamaIndexInstrumentor(Instrumentor):
    """Points of ``llama-index-core``, and of the workflows that its agents are."""

    library = "llama_index"
    kinds = frozenset(("agent.delegate", "agent.invoke", "llm.call", "run", "tool.execute"))
    control = staticmethod(control)
    table = (
        *_models("core.base.llms.base:BaseLLM"),
        *_models("core.multi_modal_llms.base:MultiModalLLM"),
        _point(f"{_TOOLS}:BaseTool.__call__", "tools:TOOL", "tools:called_chosen"),
        _point(f"{_TOOLS}:AsyncBaseTool.call", "tools:TOOL", "tools:chosen"),
        _point(f"{_TOOLS}:AsyncBaseTool.acall", "tools:TOOL", "tools:chosen", mode="async"),
        _point("core.tools.calling:call_tool", "tools:CALLED", "tools:tried"),
        _point("core.tools.calling:acall_tool", "tools:CALLED", "tools:tried", mode="async"),
        _loop("control_loop"),
        _loop("control_loop.runner"),
        _point(f"{_AGENTS}.base_agent:BaseWorkflowAgent.take_step", "turns:AGENT", "turns:step", mode="async"),
        _point(f"{_AGENTS}.multi_agent_workflow:AgentWorkflow._call_tool", "turns:AGENT", "turns:within", mode="async"),
        _point(
            f"{_AGENTS}.multi_agent_workflow:AgentWorkflow._get_llm_response",
            "turns:AGENT",
            "turns:response",
            mode="async",
            optional=True,
        ),
        _point("core.agent.utils:generate_structured_response", "turns:AGENT", "turns:within", mode="async"),
        Signal(module="workflows.plugins.basic", name="BasicRuntime.run_workflow", after=f"{_HERE}.ending:started"),
        _outlet("llama_index_instrumentation.dispatcher", "Dispatcher.event", "event"),
        _outlet("llama_index_instrumentation.dispatcher", "Dispatcher.span_exit", "span"),
        _outlet("llama_index.core.callbacks.base", "CallbackManager.on_event_end", "callback"),
    )
