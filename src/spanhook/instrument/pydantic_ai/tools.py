"""Tools: ``call_tool`` of the outermost toolset, whatever its tools are: functions, those of MCP servers, or others."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import exceptions
from pydantic_ai.toolsets import WrapperToolset

from spanhook import semconv
from spanhook.instrument.pydantic_ai.arguments import TOOL as CALL
from spanhook.instrument.pydantic_ai.messages import json_of
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
    Record,
    Request,
    current_record,
    exact_text,
    gated_by,
    in_order,
)

LAYER = "pydantic_ai.tool"


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one that a toolset passes on to another, and for output tools."""
    if getattr(getattr(CALL.given(args, kwargs, "tool"), "tool_def", None), "kind", "") == "output":
        return None  # version 1 calls them here; their functions are gated
    op = current_record()
    if op is None or op.adapter is not TOOL or not op.called or op.ended or not _is_same(op, args, kwargs):
        return TOOL
    if op.inner.opened and CALL.given(args, kwargs, "name") != op.inner.passed_as:
        return TOOL  # the tool itself calls another one
    _note_passed(op, instance, args, kwargs)
    return None


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    op = current_record()
    if op is not None:
        _note_passed(op, instance, args, kwargs)
    return args, kwargs


def _note_passed(op: Record, toolset: Any, args: Args, kwargs: Kwargs) -> None:
    """Note the name that the call goes on with, and whether it keeps that: only wrappers have other names inside."""
    op.part(InnerCalls).passed_as = _inner_name(toolset, args, kwargs)
    op.part(InnerCalls).opened = not isinstance(toolset, WrapperToolset)


def _inner_name(toolset: Any, args: Args, kwargs: Kwargs) -> str:
    """The name of the tool inside of a toolset, whose own prefix it may have."""
    name, prefix = exact_text(CALL.given(args, kwargs, "name")), getattr(toolset, "tool_prefix", None)
    return name.removeprefix(f"{prefix}_") if isinstance(prefix, str) and prefix else name


def _is_same(op: Record, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call is the one that is being made: with its id and its arguments, which nobody has edited in place
    since its gates were asked.
    """
    first, second = CALL.given(op.args, op.kwargs, "ctx"), CALL.given(args, kwargs, "ctx")
    known = getattr(first, "tool_call_id", None)
    if known != getattr(second, "tool_call_id", None):
        return False
    try:
        is_equal = bool(CALL.given(op.args, op.kwargs, "tool_args") == CALL.given(args, kwargs, "tool_args"))
    except Exception:
        return False  # arguments that cannot be compared, such as copies of arrays
    return is_equal and gated_by(op) == tool_carries(None, args, kwargs)


def tool_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: exact_text(CALL.given(args, kwargs, "name")),
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    call_id = getattr(CALL.given(args, kwargs, "ctx"), "tool_call_id", None)
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    tool = CALL.given(args, kwargs, "tool")
    description = getattr(getattr(tool, "tool_def", None), "description", None)
    if description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    if hasattr(getattr(tool, "toolset", None), "direct_call_tool"):
        attributes[semconv.GEN_AI_TOOL_TYPE] = "extension"
    return attributes


def _arguments(args: Args, kwargs: Kwargs) -> dict[str, Any]:
    given = CALL.given(args, kwargs, "tool_args")
    return dict(given) if isinstance(given, Mapping) else {}


def tool_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(arguments=_arguments(args, kwargs), inputs=CALL.given(args, kwargs, "tool_args"))


def tool_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(args, kwargs))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else dict(change.arguments)
    tool = CALL.given(args, kwargs, "tool")
    schema: Mapping[str, Any] = getattr(getattr(tool, "tool_def", None), "parameters_json_schema", None) or {}
    if change.arguments is not None and schema.get("additionalProperties") is False:
        unknown = change.arguments.keys() - (schema.get("properties") or {}).keys()
        if unknown:
            raise ValueError(f"the tool {tool.tool_def.name!r} has no argument {sorted(map(str, unknown))}")
    return CALL.having(args, kwargs, tool_args=given)


def tool_output(result: Any) -> list[Message]:
    """What the model is told."""
    told = result.return_value if type(result).__name__ == "ToolReturn" else result
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": json_of(told)}]}]


def tool_rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> Any:
    """What the model is told: newer versions have an exception for that, which counts as no retry."""
    told = f"Tool call rejected: {reason}"
    failed = getattr(exceptions, "ToolFailed", None)
    return told if failed is None else failed(told)


TOOL = Adapter(
    kind="tool.execute",
    layer=LAYER,
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), prepare=tool_prepare, rejected=tool_rejected
    ),
    nesting=Nesting(role="framework", carries=tool_carries),
)
