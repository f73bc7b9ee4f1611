"""DSPy: language models, embeddings, programs and agents, tools.

Models and embeddings are gated where programs call them, before DSPy's own cache and whatever they send their requests
through.
"""

from spanhook.instrument.instrumentor import Instrumentor
from spanhook.instrument.layers import DSPY_MODEL
from spanhook.model import Attempts, Outlet, Point, Signal

_HERE = "spanhook.instrument.dspy"
_TOOLS = "dspy.adapters.types.tool"


def _points(
    module: str, name: str, adapter: str, choose: str = "", *, overrides: bool = True, optional: bool = False
) -> tuple[Point, ...]:
    """A method and its async version."""
    return tuple(
        Point(
            module=f"dspy.{module}",
            name=f"{name}.{method}",
            adapter=f"{_HERE}.{adapter}",
            choose=f"{_HERE}.{choose}" if choose else "",
            mode=mode,
            overrides=overrides,
            optional=optional,
        )
        for method, mode in (("__call__", "sync"), ("acall", "async"))
    )


#: Adapters that ask the model again, in another format, when a call has failed: older versions whatever it failed with.
_TRIES = (
    "chat_adapter:ChatAdapter.__call__",
    "chat_adapter:ChatAdapter.acall",
    "json_adapter:JSONAdapter.__call__",
    "json_adapter:JSONAdapter.acall",
)


def _attempts() -> tuple[Attempts, ...]:
    places = (place.partition(":") for place in _TRIES)
    return tuple(
        Attempts(module=f"dspy.adapters.{module}", name=name, layer=DSPY_MODEL, optional=True)
        for module, _, name in places
    )


#: What sends parts of an answer on: DSPy's own client, and LiteLLM's.
_SENDS = ("clients.engines.streaming:ListenerBridge.chunk", "clients.lm:_get_stream_completion_fn")


def _outlets() -> tuple[Outlet, ...]:
    places = (place.partition(":") for place in _SENDS)
    return tuple(
        Outlet(
            module=f"dspy.{module}",
            name=name,
            wanted=f"{_HERE}.streams:wanted",
            hold=f"{_HERE}.streams:hold",
            optional=True,
        )
        for module, _, name in places
    )


def _code(place: str, adapter: str) -> Point:
    """Where a module runs code that its model has written."""
    module, _, name = place.partition(":")
    return Point(
        module=f"dspy.predict.{module}",
        name=f"{name}._execute_code",
        adapter=f"{_HERE}.code:{adapter}",
        overrides=True,
        optional=True,
    )


class DSPyInstrumentor(Instrumentor):
    """Points of ``dspy``."""

    library = "dspy"
    kinds = frozenset(("agent.invoke", "embeddings.create", "llm.call", "tool.execute"))
    table = (
        *_points("clients.base_lm", "BaseLM", "models:MODEL", "models:chosen"),
        *_points("primitives.module", "Module", "programs:RUN", "programs:chosen", optional=True),
        *_points("primitives.program", "Module", "programs:RUN", "programs:chosen", optional=True),
        *_points("clients.embedding", "Embedder", "embeddings:EMBED"),
        *_points("adapters.types.tool", "Tool", "tools:TOOL"),
        Point(
            module=_TOOLS,
            name="ToolCalls.ToolCall.execute",
            adapter=f"{_HERE}.tool_calls:TOOL_CALL",
            choose=f"{_HERE}.tool_calls:chosen",
            optional=True,
        ),
        Signal(
            module=_TOOLS,
            name="ToolCalls.ToolCall.execute",
            before=f"{_HERE}.tool_calls:look_up",
            optional=True,
        ),
        _code("program_of_thought:ProgramOfThought", "CODE"),
        _code("rlm:RLM", "RLM_CODE"),
        Point(
            module="dspy.predict.flex.bridge",
            name="BridgeRuntime.forward",
            adapter=f"{_HERE}.flex:FLEX_CODE",
            optional=True,
        ),
        Signal(
            module="dspy.predict.flex.bridge", name="_tool_entrypoint", before=f"{_HERE}.flex:entered", optional=True
        ),
        *_attempts(),
        *_outlets(),
        Outlet(
            module="dspy.clients.cache",
            name="Cache.put",
            wanted="spanhook.instrument.caches:always",
            hold="spanhook.instrument.caches:hold",
        ),
        Signal(
            module="dspy.clients.base_lm",
            name="BaseLM._process_lm_response",
            before=f"{_HERE}.responses:processed",
            optional=True,
        ),
        Signal(module="dspy.clients.execution", name="finalize", before=f"{_HERE}.responses:finalized", optional=True),
    )
