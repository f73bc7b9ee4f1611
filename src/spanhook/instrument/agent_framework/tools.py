"""Tools: ``invoke`` of every ``FunctionTool``, and the call of one as the function that it was made of.

In the library's loop, a refusal is the tool's result, which the model is told. To other callers it is raised.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from agent_framework import Content, FunctionTool
from pydantic import BaseModel

from spanhook import semconv
from spanhook.instrument.agent_framework.contents import part_of
from spanhook.instrument.agent_framework.tool_bodies import RECEIVING
from spanhook.instrument.layers import MCP_SERVER
from spanhook.instrument.wire import encoded
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

_OWN = frozenset(("arguments", "context", "tool_call_id", "skip_parsing"))
"""Arguments of ``invoke`` that are none of the tool's."""
_REMOTE = "_mcp_remote_name"
"""Where a tool of an MCP server has the name that it has there."""


_begun: "WeakKeyDictionary[Record, tuple[dict[str, Any], Carried | None]]" = WeakKeyDictionary()
"""What ``invoke`` has called the tool's function with, and how that read then."""


_served: "WeakKeyDictionary[Record, FunctionTool]" = WeakKeyDictionary()
"""The tool that an MCP server's call has led to."""


def chosen(instance: Any, _args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one that a tool passes on to another of its name, with the same arguments, or
    that an MCP server was asked for, such as that of ``as_mcp_server()``.
    """
    op = current_record()
    if op is None or not op.called or op.ended or not _may_lead_to(op, instance):
        return TOOL
    if [in_order(_arguments(instance, kwargs))] != gated_by(op):
        return TOOL
    if op.adapter.layer == MCP_SERVER:
        _served[op] = instance
    return None


def _may_lead_to(op: Record, tool: Any) -> bool:
    if op.adapter.layer == MCP_SERVER:
        return op.kind == "tool.execute" and op.name == tool.name and op not in _served
    return op.adapter.layer == TOOL.layer and op.instance is not tool and op.instance.name == tool.name


def call_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a direct call of a tool; ``None`` for the one that ``invoke`` makes, or that is passed on.

    A function that calls its own tool with other arguments makes another call.
    """
    op = current_record()
    if op is None or not op.called or op.ended or not _is_call_of(op, instance):
        return CALL
    return None if _is_passed_on(op, _called_with(instance, args, kwargs)) else CALL


def _is_call_of(op: Record, tool: Any) -> bool:
    if op.adapter.layer == MCP_SERVER:
        return _served.get(op) is tool
    return op.adapter.layer == TOOL.layer and op.instance.name == tool.name


def _is_passed_on(op: Record, called: dict[str, Any]) -> bool:
    """Whether a tool's function is called with the very arguments of its call, and nobody has edited these in place."""
    reads: Carried | None = None if op.gated is None else [in_order(called)]
    if op.adapter is CALL:
        first, read = _called_with(op.instance, op.args, op.kwargs), op.gated
    elif op not in _begun and not _is_asked_for(op, called):
        return False
    else:
        first, read = _begun.setdefault(op, (called, reads))
    is_same = first.keys() == called.keys() and all(first[name] is value for name, value in called.items())
    return is_same and reads == read


def _is_asked_for(op: Record, called: dict[str, Any]) -> bool:
    """Whether ``invoke`` calls the function with what it was asked for. The library's own always does; one of the
    application may call it with anything.
    """
    cls = next(one for one in type(_served.get(op, op.instance)).__mro__ if "invoke" in one.__dict__)
    if cls.__module__.startswith("agent_framework."):
        return True
    if op in _served:
        return False
    context = getattr(op.instance, "_context_parameter_name", None)
    told = in_order({name: value for name, value in called.items() if name != context})
    asked = _arguments(op.instance, op.kwargs)
    return [in_order(asked)] == gated_by(op) and told in map(in_order, _forms(op.instance, asked))


def _forms(tool: Any, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Arguments as they are, and as the library's versions validate them."""
    yield asked
    model = getattr(tool, "input_model", None)
    if isinstance(model, type) and issubclass(model, BaseModel):
        read = model.model_validate(asked)
        yield read.model_dump(exclude_unset=True)
        yield read.model_dump(exclude_none=True)


def _remote_name(tool: Any) -> str:
    told = getattr(tool, "additional_properties", None)
    name = told.get(_REMOTE) if isinstance(told, Mapping) else None
    return name if isinstance(name, str) else ""


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name that a tool of an MCP server has there."""
    op, name = current_record(), _remote_name(instance)
    if op is not None and name:
        op.part(InnerCalls).passed_as = name
    return args, kwargs


def tool_names(instance: Any, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    """A tool's name, and the one that it has at its server."""
    return frozenset(one for one in (exact_text(instance.name), _remote_name(instance)) if one)


def tool_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: exact_text(instance.name),
        semconv.GEN_AI_TOOL_TYPE: "extension" if _remote_name(instance) else "function",
    }
    call_id, description = kwargs.get("tool_call_id"), instance.description
    if isinstance(call_id, str) and call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


# ------------------------------------------------------------------------------------------------- arguments


def _arguments(_instance: Any, kwargs: Kwargs) -> dict[str, Any]:
    """The arguments of ``invoke`` that are the tool's: given as one, by name, or in its context."""
    given = kwargs.get("arguments")
    if given is None:
        by_name = {name: value for name, value in kwargs.items() if name not in _OWN}
        given = by_name or getattr(kwargs.get("context"), "arguments", None)
    if isinstance(given, BaseModel):
        return given.model_dump(exclude_none=True)
    return dict(given) if isinstance(given, Mapping) else {}


def tool_request(instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    arguments = _arguments(instance, kwargs)
    return Request(arguments=arguments, inputs=arguments)


def tool_carries(instance: Any, _args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, kwargs))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    own = {name: value for name, value in kwargs.items() if name in _OWN}
    return args, {**own, "arguments": dict(given)}


# ------------------------------------------------------------------------------------------------- results


def tool_output(result: Any) -> list[Message]:
    """What the model is told."""
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": _told(result)}]}]


def _told(result: Any) -> Any:
    if isinstance(result, list) and result and all(isinstance(one, Content) for one in result):
        if all(one.type == "text" for one in result):
            return "\n".join(one.text or "" for one in result)
        return [part_of(one) for one in result]
    return encoded(result if isinstance(result, str | int | float | list | dict) else str(result))


def tool_answer(instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What the tool would have returned for a value of its function, in the form that the library gives it."""
    parser = getattr(instance, "result_parser", None)
    if kwargs.get("skip_parsing") or (parser is not None and not callable(parser)):
        return value
    parsed = FunctionTool.parse_result(value) if parser is None else parser(value)
    return [Content.from_text(parsed)] if isinstance(parsed, str) else parsed


def tool_rejected(_instance: Any, _args: Args, kwargs: Kwargs, reason: str) -> Any:
    """What the model is told, if it has asked for the call."""
    return None if kwargs.get("tool_call_id") is None else [Content.from_text(f"Error: {reason}")]


TOOL = Adapter(
    kind="tool.execute",
    layer="agent_framework.tool",
    start=tool_start,
    reading=Reading(names=tool_names, request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite,
        takes=frozenset(("arguments", "inputs")),
        prepare=tool_prepare,
        answer=tool_answer,
        rejected=tool_rejected,
    ),
    nesting=Nesting(role="framework", carries=tool_carries),
    receiving=RECEIVING,
)


# ------------------------------------------------------------------------------------------------- direct calls


def _called_with(tool: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The arguments of a tool that is called as its function."""
    return {**dict(zip(_places(tool, len(args)), args, strict=True)), **kwargs} if args else dict(kwargs)


def _places(tool: Any, count: int) -> list[str]:
    """The names of arguments that are given by place; the number of a place that has none."""
    try:
        parameters = list(inspect.signature(tool.func).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_place = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    names = by_place[1:] if getattr(tool, "_instance", None) is not None else by_place
    return [names[place] if place < len(names) else str(place) for place in range(count)]


def call_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    arguments = _called_with(instance, args, kwargs)
    return Request(arguments=arguments, inputs=arguments)


def call_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_called_with(instance, args, kwargs))]


def call_rewrite(instance: Any, args: Args, _kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = dict(change.inputs if change.arguments is None else change.arguments)
    placed = _places(instance, len(args))
    if any(name not in given for name in placed):
        return (), given
    by_place = tuple(given.pop(name) for name in placed)
    return by_place, given


def call_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return value


CALL = replace(
    TOOL,
    reading=replace(TOOL.reading, request=call_request),
    editing=replace(TOOL.editing, rewrite=call_rewrite, answer=call_answer, rejected=None),
    nesting=replace(TOOL.nesting, carries=call_carries),
    receiving=None,
)
