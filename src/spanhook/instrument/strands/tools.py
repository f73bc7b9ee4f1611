"""Tools: ``stream`` of every ``AgentTool``, whatever it is: functions, tools of MCP servers, agents.

A refusal is raised. The library makes of it what it makes of every exception of a tool: a result with the status
``error``, which the model is told.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from strands.types._events import ToolResultEvent

from spanhook import semconv
from spanhook.instrument.strands.arguments import TOOL as CALL
from spanhook.instrument.strands.chunks import ToolChunks
from spanhook.instrument.strands.tool_bodies import received_later
from spanhook.instrument.wire import encoded, fields_of
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    InnerCalls,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Receiving,
    Request,
    Streaming,
    current_record,
    exact_text,
    gated_by,
    in_order,
)


def _asked(args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    """What the model asks for: name, id, input."""
    return fields_of(CALL.given(args, kwargs, "tool_use"))


def _name(tool: Any) -> str:
    return exact_text(tool.tool_name)


def _is_output(tool: Any) -> bool:
    """Whether a tool is the library's own for structured output. An application's class may have the same name."""
    cls = type(tool)
    return cls.__name__ == "StructuredOutputTool" and cls.__module__.startswith("strands.tools.structured_output.")


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for structured output, which is no tool, and for a call that is passed on.

    A tool passes on to what it overrides or wraps, which has its name. Another tool is another operation, even if it is
    asked the same.
    """
    if _is_output(instance):
        return None
    op = current_record()
    if op is None or op.adapter is not TOOL or not op.called or op.ended:
        return TOOL
    same = _name(op.instance) == _name(instance) and _asked(op.args, op.kwargs) == _asked(args, kwargs)
    is_passed_on = same and gated_by(op) == tool_carries(instance, args, kwargs)  # it may have been edited in place
    return None if is_passed_on else TOOL


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name that a tool of an MCP server has there."""
    op, name = current_record(), getattr(getattr(instance, "mcp_tool", None), "name", None)
    if op is not None and isinstance(name, str):
        op.part(InnerCalls).passed_as = name
    return args, kwargs


def tool_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: _name(instance),
        semconv.GEN_AI_TOOL_TYPE: "extension" if hasattr(instance, "mcp_tool") else "function",
    }
    call_id = _asked(args, kwargs).get("toolUseId")
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    description = fields_of(instance.tool_spec).get("description")
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _arguments(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    given = _asked(args, kwargs).get("input")
    return dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else {}


def tool_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(arguments=_arguments(args, kwargs), inputs=_asked(args, kwargs).get("input"))


def tool_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(args, kwargs))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else dict(change.arguments)
    return CALL.having(args, kwargs, tool_use={**_asked(args, kwargs), "input": given})


def tool_output(result: Any) -> list[Message]:
    """What the model is told."""
    blocks = fields_of(result).get("content")
    only = fields_of(blocks[0]) if isinstance(blocks, list) and len(blocks) == 1 else {}
    told = next((only[name] for name in ("text", "json") if name in only), blocks)
    said = told if isinstance(told, str | int | float | list | dict) else str(told)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def tool_fault(result: Any) -> str:
    """Why a result says that the tool has failed: exceptions of tools become such results."""
    return "tool_error" if fields_of(result).get("status") == "error" else ""


def tool_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """A result for what a hook answers: one of the library's, text, or anything that is JSON."""
    call_id = str(_asked(args, kwargs).get("toolUseId") or "unknown")
    told = fields_of(value)
    if "content" in told and "status" in told:
        return {**told, "toolUseId": call_id}
    block = {"json": value} if isinstance(value, dict | list) else {"text": str(value)}
    return {"toolUseId": call_id, "status": "success", "content": [block]}


def tool_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (ToolResultEvent(tool_answer(instance, args, kwargs, value)),)


TOOL = Adapter(
    kind="tool.execute",
    layer="strands.tool",
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output, fault=tool_fault),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), prepare=tool_prepare, answer=tool_answer
    ),
    streaming=Streaming(chunks=ToolChunks, answer_chunks=tool_events, ends="result"),
    nesting=Nesting(role="framework", carries=tool_carries),
    receiving=Receiving(coerced="twice", later=received_later),
)
