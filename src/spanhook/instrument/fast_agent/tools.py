"""Tools: functions, those of MCP servers, shells and files, and other agents; also those that sandboxed code calls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mcp import types

from spanhook import semconv
from spanhook.instrument.fast_agent.arguments import CHILD
from spanhook.instrument.fast_agent.arguments import TOOL as CALL
from spanhook.instrument.fast_agent.messages import field, plain, result_text
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
    Request,
    current_record,
    exact_text,
    in_order,
    json_text,
)

LAYER = "fast_agent.tool"


# ------------------------------------------------------------------------------------------------- the call


def tool_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    name = exact_text(CALL.given(args, kwargs, "name"))
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: name, semconv.GEN_AI_TOOL_TYPE: "function"}
    call_id = CALL.given(args, kwargs, "tool_use_id")
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    tool = (getattr(instance, "_execution_tools", None) or {}).get(name)
    description = getattr(tool, "description", None)
    if tool is None and name in _namespaced(instance):
        description = getattr(_namespaced(instance)[name].tool, "description", None)
        attributes[semconv.GEN_AI_TOOL_TYPE] = "extension"
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _namespaced(agent: Any) -> Mapping[str, Any]:
    """The tools of an agent's MCP servers, by the names that models call them by."""
    found = getattr(getattr(agent, "_aggregator", None), "_namespaced_tool_map", None)
    return found if isinstance(found, Mapping) else {}


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name by which the tool's own server knows it."""
    op = current_record()
    name = exact_text(CALL.given(args, kwargs, "name"))
    known = _namespaced(instance).get(name)
    if op is not None:
        op.part(InnerCalls).passed_as = exact_text(known.tool.name) if known is not None else _local(instance, name)
    return args, kwargs


def _local(agent: Any, name: str) -> str:
    """A tool's name without that of its server."""
    for server in getattr(getattr(agent, "_aggregator", None), "server_names", None) or ():
        for separator in ("__", "-", "."):
            if name.startswith(f"{server}{separator}"):
                return name.removeprefix(f"{server}{separator}")
    return name


def _arguments(given: Any) -> dict[str, Any]:
    return dict(given) if isinstance(given, Mapping) else {}


def tool_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = CALL.given(args, kwargs, "arguments")
    return Request(arguments=_arguments(given), inputs=given)


def tool_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """The arguments, and the name: code in a sandbox may call another tool with the same ones."""
    return [in_order(_arguments(CALL.given(args, kwargs, "arguments"))), exact_text(CALL.given(args, kwargs, "name"))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else dict(change.arguments)
    return CALL.having(args, kwargs, arguments=given)


# ------------------------------------------------------------------------------------------------- the result


def fault(result: Any) -> str:
    return semconv.TOOL_ERROR if field(result, "is_error", "isError") is True else ""


def tool_output(result: Any) -> list[Message]:
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": result_text(result)}]}]


def _result(told: Mapping[str, Any]) -> Any:
    return types.CallToolResult.model_validate(told)


def tool_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """The result that says a value: text, blocks of content, a whole result, or anything that JSON can express."""
    if isinstance(value, types.CallToolResult):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("content"), list):
        return _result(value)
    told: dict[str, Any] = {"content": _blocks(value), "isError": False}
    if isinstance(value, Mapping):
        told["structuredContent"] = dict(value)
    return _result(told)


def tool_amend(before: Any, instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """``tool_answer`` for a value that replaces a result: an error stays one unless the value is a whole result."""
    made = tool_answer(instance, args, kwargs, value)
    if made is value or not fault(before):
        return made
    return _result({**plain(made), "isError": True})


def _blocks(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    several = list(value) if isinstance(value, list | tuple) else [value]
    if several and all(isinstance(one, Mapping) and isinstance(one.get("type"), str) for one in several):
        return several
    return [{"type": "text", "text": json_text(value, ensure_ascii=False)}]


def tool_rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> Any:
    """What the model is told, as it is told what tools raise."""
    return _result({"content": [{"type": "text", "text": f"Tool call rejected: {reason}"}], "isError": True})


TOOL = Adapter(
    kind="tool.execute",
    layer=LAYER,
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output, fault=fault),
    editing=Editing(
        rewrite=tool_rewrite,
        takes=frozenset(("arguments", "inputs")),
        prepare=tool_prepare,
        answer=tool_answer,
        amend=tool_amend,
        rejected=tool_rejected,
    ),
    nesting=Nesting(
        role="framework",
        carries=tool_carries,
        transport_of=frozenset((LAYER,)),  # subclasses pass calls on to the methods that they override
    ),
)


# ------------------------------------------------------------------------------------------------- agents as tools


def _child_arguments(args: Args, kwargs: Kwargs) -> Any:
    """What another agent is asked; where it is cloned first, all is passed by name."""
    return kwargs["tool_args"] if "tool_args" in kwargs else CHILD.given(args, kwargs, "arguments")


def child_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    name = kwargs.get("tool_name") or getattr(CHILD.given(args, kwargs, "child"), "name", "agent")
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: exact_text(name), semconv.GEN_AI_TOOL_TYPE: "function"}
    call_id = kwargs.get("correlation_id") or kwargs.get("tool_use_id")
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return attributes


def child_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _child_arguments(args, kwargs)
    return Request(arguments=_arguments(given), inputs=given)


def child_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(_child_arguments(args, kwargs)))]


def child_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else dict(change.arguments)
    if "tool_args" in kwargs:
        return args, {**kwargs, "tool_args": given}
    return CHILD.having(args, kwargs, arguments=given)


CHILD_AGENT = replace(
    TOOL,
    start=child_start,
    reading=replace(TOOL.reading, request=child_request),
    editing=replace(TOOL.editing, rewrite=child_rewrite, prepare=None),
    nesting=replace(TOOL.nesting, carries=child_carries),
)
