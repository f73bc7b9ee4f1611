"""Tools: ``__call__`` of every ``Tool``, and ``forward`` where it is called directly, as code of a model may; newer
versions also take a ``BaseTool`` that has nothing but a name and ``__call__``.

A refusal is raised. Agents make of it what they make of every exception of a tool: the model is told.
"""

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from smolagents.agent_types import AgentImage, AgentType, handle_agent_output_types
from smolagents.tools import PipelineTool, Tool

from spanhook import semconv
from spanhook.instrument.smolagents.messages import as_text
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

_OWN = "sanitize_inputs_outputs"
"""The argument of ``__call__`` that is none of the tool's."""

_ADAPTS_MCP = "mcpadapt."
"""The module of tools that the library makes of those of MCP servers."""


def base_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call of a ``BaseTool``; ``None`` for a ``Tool``, which has a point of its own."""
    return None if isinstance(instance, Tool) else TOOL


def forward_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a direct call of ``forward``; ``None`` for the one that a call of the tool makes."""
    op = current_record()
    if op is None or op.adapter is not TOOL or op.instance is not instance or not op.called or op.ended:
        return TOOL
    return None if _goes_on(op, args, kwargs) else TOOL


def _goes_on(op: Record, args: Args, kwargs: Kwargs) -> bool:
    """Whether ``forward`` gets what the tool was called with, but for the library's types, which it may take off."""
    if isinstance(op.instance, PipelineTool):  # it gets what the tool has encoded
        return True
    given = _arguments(op.instance, args, kwargs)
    if op.kwargs.get(_OWN):
        called = _arguments(op.instance, op.args, op.kwargs)
        given = {name: _wrapped(called.get(name), value) for name, value in given.items()}
    return gated_by(op) == [in_order(given)]


def _wrapped(called: Any, value: Any) -> Any:
    """What the tool was called with, if this is its raw value. The library has made that by now, and keeps most."""
    if not isinstance(called, AgentType) or isinstance(value, AgentType):
        return value
    raw: Any = called.to_raw()
    return called if raw is value or (type(raw) is type(value) and bool(raw == value)) else value


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name that a tool of an MCP server has there, where it need not be one of Python's."""
    op, name = current_record(), _name_at_server(instance)
    if op is not None and name:
        op.part(InnerCalls).passed_as = name
    return args, kwargs


def _name_at_server(tool: Any) -> str:
    """The last text that the function is bound to by which such a tool's ``forward`` calls the server; else empty."""
    if not type(tool).__module__.startswith(_ADAPTS_MCP):
        return ""
    for cell in getattr(type(tool).forward, "__closure__", None) or ():
        function = cell.cell_contents
        if isinstance(function, partial):
            return next((one for one in reversed(function.args) if isinstance(one, str)), "")
    return ""


def tool_names(instance: Any, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    """A tool's name, and the one that it has at its server."""
    return frozenset(one for one in (_name_of(instance), _name_at_server(instance)) if one)


def _name_of(tool: Any) -> str:
    return exact_text(getattr(tool, "name", None)) or type(tool).__name__


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: _name_of(instance),
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    description = getattr(instance, "description", None)
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _inputs(tool: Any) -> Mapping[str, Any]:
    """A tool's description of its arguments, by their names."""
    inputs = getattr(tool, "inputs", None)
    return inputs if isinstance(inputs, Mapping) else {}


def _names(tool: Any) -> tuple[str, ...]:
    """The names of a tool's arguments, in the order in which they are passed."""
    if getattr(tool, "skip_forward_signature_validation", False):  # its function takes them in a form of its own
        return tuple(_inputs(tool))
    try:
        parameters = inspect.signature(tool.forward if isinstance(tool, Tool) else tool.__call__).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return tuple(_inputs(tool))
    if isinstance(tool, Tool) and any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return tuple(_inputs(tool))
    by_place = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return tuple(name for name in by_place if name != "self") or tuple(_inputs(tool))


def _arguments(tool: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """A call's arguments by name. One dict of all of them is taken apart, as ``Tool`` does."""
    given = {name: value for name, value in kwargs.items() if name != _OWN}
    if not args:
        return given
    if len(args) == 1 and not given and isinstance(tool, Tool) and isinstance(args[0], dict):
        inputs = _inputs(tool)
        if all(name in inputs for name in args[0]):
            return dict(args[0])
    return {**dict(zip(_places(tool, args), args, strict=True)), **given}


def _places(tool: Any, args: Args) -> list[str]:
    """The names of arguments that are given by place; the number of a place that has none."""
    names = _names(tool)
    return [names[place] if place < len(names) else str(place) for place in range(len(args))]


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = {name: _raw(value) for name, value in _arguments(instance, args, kwargs).items()}
    return Request(arguments=given, inputs=given)


def _raw(value: Any) -> Any:
    """An argument as the tool gets it: of the library's own images, a file is written whenever they are made a text."""
    return value.to_raw() if isinstance(value, AgentImage) else value


def tool_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, args, kwargs))]


def tool_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    if given is None:
        return args, kwargs
    own = {_OWN: kwargs[_OWN]} if _OWN in kwargs else {}
    if isinstance(instance, Tool):
        return (), {**given, **own}
    placed = _places(instance, args)  # its call may take them in no other way
    if any(name not in given for name in placed):
        return (), {**given, **own}
    rest = {name: value for name, value in given.items() if name not in placed}
    return tuple(given[name] for name in placed), {**rest, **own}


def tool_output(result: Any) -> list[Message]:
    """What the model is told, as far as it is text."""
    said = result if isinstance(result, str | int | float | list | dict) else as_text(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def tool_answer(instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What a hook answers, in the type that the library gives to results for its agents."""
    return handle_agent_output_types(value, getattr(instance, "output_type", None)) if kwargs.get(_OWN) else value


TOOL = Adapter(
    kind="tool.execute",
    layer="smolagents.tool",
    start=tool_start,
    reading=Reading(names=tool_names, request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), answer=tool_answer, prepare=tool_prepare
    ),
    nesting=Nesting(role="framework", carries=tool_carries),
)
