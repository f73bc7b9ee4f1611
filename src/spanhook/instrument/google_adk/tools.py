"""Tools: ``run_async`` of every ``BaseTool``, whatever it is: functions, agents, tools of MCP servers.

The model is told of a refusal as the library tells it of a call that fails before the function runs. Where no model has
asked for the call, the refusal is raised.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import isasyncgen
from typing import Any

from google.adk.agents.base_agent import BaseAgent

from spanhook import semconv
from spanhook.instrument.google_adk.arguments import POOL
from spanhook.instrument.google_adk.arguments import TOOL as CALL
from spanhook.instrument.google_adk.delegations import HANDOFF, Handoff
from spanhook.instrument.google_adk.runs import name_of
from spanhook.instrument.google_adk.tool_bodies import tool_received, tool_received_later, tool_shown
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    EndDetails,
    Following,
    InnerCalls,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Receiving,
    Request,
    Streaming,
    Usage,
    current_record,
    exact_text,
    gated_by,
    in_order,
)

_OUTPUTS = {
    "SetModelResponseTool": "google.adk.tools.set_model_response_tool",
    "FinishTaskTool": "google.adk.agents.llm.task.",
}
"""Tools by which a model gives its structured output, and their modules: an application's may have the same name."""


# ------------------------------------------------------------------------------------------------- which calls


def _call(instance: Any) -> Signature:
    """How a call is made: on a tool, or with one."""
    return POOL if instance is None else CALL


def _tool(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return POOL.given(args, kwargs, "tool") if instance is None else instance


def _is_output(tool: Any) -> bool:
    module = _OUTPUTS.get(type(tool).__name__)
    return module is not None and type(tool).__module__.startswith(module)


def _goes_on(tool: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether a call is what the enclosing call of the same tool does: in another of its methods, or in a thread."""
    op = current_record()
    if op is None or op.adapter not in (TOOL, LIVE) or not op.called or op.ended:
        return False
    return _tool(op.instance, op.args, op.kwargs) is tool and gated_by(op) == [in_order(arguments)]


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for structured output, which is no tool, and for a call that goes on."""
    tool = _tool(instance, args, kwargs)
    if _is_output(tool) or _goes_on(tool, _arguments(instance, args, kwargs)):
        return None
    return TOOL


def live_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    return None if chosen(instance, args, kwargs) is None else LIVE


# ------------------------------------------------------------------------------------------------- requests


def _at_server(tool: Any) -> str:
    """The name that a tool of an MCP server has there; empty for any other."""
    name = getattr(getattr(tool, "_mcp_tool", None), "name", None)
    return name if isinstance(name, str) else ""


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name that a tool of an MCP server has there."""
    op, name = current_record(), _at_server(_tool(instance, args, kwargs))
    if op is not None and name:
        op.part(InnerCalls).passed_as = name
    return args, kwargs


def tool_names(instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str]:
    """A tool's name, and the one that it has at its server."""
    tool = _tool(instance, args, kwargs)
    return frozenset(one for one in (name_of(tool), _at_server(tool)) if one)


def _context(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return _call(instance).given(args, kwargs, "tool_context")


def _call_id(instance: Any, args: Args, kwargs: Kwargs) -> str:
    call_id = getattr(_context(instance, args, kwargs), "function_call_id", None)
    return call_id if isinstance(call_id, str) else ""


def tool_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    tool = _tool(instance, args, kwargs)
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: name_of(tool),
        semconv.GEN_AI_TOOL_TYPE: "extension" if _at_server(tool) else "function",
    }
    call_id, description = _call_id(instance, args, kwargs), getattr(tool, "description", None)
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _arguments(instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    given = _call(instance).given(args, kwargs, "args")
    return dict(given) if isinstance(given, Mapping) else {}


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _arguments(instance, args, kwargs)
    return Request(arguments=given, inputs=given)


def tool_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, args, kwargs))]


def tool_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    return _call(instance).having(args, kwargs, args=dict(given or {}))


# ------------------------------------------------------------------------------------------------- results


def tool_output(result: Any) -> list[Message]:
    """What the model is told."""
    told = result if isinstance(result, str | int | float | list | dict) else str(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(told)}]}]


def tool_response(_result: Any) -> tuple[Attributes, Usage | None]:
    """Nothing is reported here, but a tool that asks for approval or for credentials has not been executed."""
    op = current_record()
    actions = getattr(_context(op.instance, op.args, op.kwargs), "actions", None) if op is not None else None
    asked = (getattr(actions, name, None) for name in ("requested_tool_confirmations", "requested_auth_configs"))
    if op is not None and any(asked):
        op.part(EndDetails).left = "interrupted"
    return {}, None


def tool_fault(result: Any) -> str:
    """Why a result says that the tool has failed: the library's own tools do so by this key."""
    return "tool_error" if isinstance(result, dict) and result.get("error") else ""


def tool_rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
    """The result that a model is told; ``None`` if none has asked: a workflow goes on with what a tool returns."""
    context = _context(instance, args, kwargs)
    actions = getattr(context, "actions", None)
    if actions is not None:
        actions.transfer_to_agent = actions.escalate = None  # what a refused result has asked for
    return {"error": reason} if _call_id(instance, args, kwargs) and not _is_of_workflow(context) else None


def _is_of_workflow(context: Any) -> bool:
    """Whether a workflow has called the tool, as one of its nodes: older versions run it in a context of its own."""
    if type(getattr(context, "_node", None)).__name__ == "_ToolNode":
        return True
    return not isinstance(getattr(getattr(context, "_invocation_context", None), "agent", None), BaseAgent)


def tool_follows(
    instance: Any, args: Args, kwargs: Kwargs, _result: Any, error: BaseException | None
) -> Iterable[Following]:
    """The hand-off that a tool has asked for."""
    context = _context(instance, args, kwargs)
    target = getattr(getattr(context, "actions", None), "transfer_to_agent", None)
    if error is not None or not isinstance(target, str) or not target:
        return ()
    giver = exact_text(getattr(context, "agent_name", ""))
    return (Following(HANDOFF, Handoff(target, giver, context, _arguments(instance, args, kwargs))),)


# ------------------------------------------------------------------------------------------------- streams


def stream_of(result: Any) -> str:
    return "async" if isasyncgen(result) else ""


class Last:
    """What a streaming tool yields; the last of it is its result."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._result: Any = None

    def add(self, chunk: Any) -> bool:
        self._result = chunk
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        return self._result


def tool_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (value,)


TOOL = Adapter(
    kind="tool.execute",
    layer="google_adk.tool",
    start=tool_start,
    follows=tool_follows,
    reading=Reading(
        names=tool_names, response=tool_response, request=tool_request, output=tool_output, fault=tool_fault
    ),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), prepare=tool_prepare, rejected=tool_rejected
    ),
    streaming=Streaming(stream_of=stream_of, chunks=Last, answer_chunks=tool_chunks),
    nesting=Nesting(role="framework", carries=tool_carries),
    receiving=Receiving(shown=tool_shown, received=tool_received, later=tool_received_later),
    traits=frozenset(("pools",)),
)
LIVE = replace(
    TOOL,
    follows=None,
    editing=replace(TOOL.editing, rejected=None),
    streaming=Streaming(chunks=Last, answer_chunks=tool_chunks),
    receiving=None,
)
