"""Tools where they run: ``BaseTool``, ``CrewStructuredTool``, and functions that a model's call runs itself.

Inside an agent's use of a tool, see ``usage``, they are part of it, unless CrewAI's own hooks have changed what the
tool is asked: that is decided about again.
"""

import copy
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.crewai.arguments import EXECUTED, INVOKED, TOLD
from spanhook.instrument.crewai.refusals import aborted, told
from spanhook.instrument.crewai.tool_bodies import invoked_later, run_later
from spanhook.instrument.crewai.tool_calls import arguments_in, named, names_of
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
    Receiving,
    Request,
    current_record,
    in_order,
)

LAYER = "crewai.tool"
Read = Callable[[Any, Args, Kwargs], dict[str, Any]]
"""The arguments of a call, by name."""


def described(name: str, description: Any = None) -> Attributes:
    """Start attributes of a tool."""
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: named(name), semconv.GEN_AI_TOOL_TYPE: "function"}
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return described(instance.name, instance.description)


def tool_names(instance: Any, _args: Args, _kwargs: Kwargs) -> frozenset[str]:
    return names_of(instance.name)


def tool_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Note the name that a tool of an MCP server has there."""
    pass_on(instance)
    return args, kwargs


def pass_on(tool: Any) -> None:
    """Note under which name a tool's call goes on, if that is another one."""
    op, inner = current_record(), getattr(tool, "_original_tool", None) or tool
    name = getattr(inner, "original_tool_name", None) or named(getattr(inner, "name", ""))
    if op is not None and isinstance(name, str):
        op.part(InnerCalls).passed_as = name


def fault(result: Any) -> str:
    """Why a result is one of CrewAI's failures."""
    if type(result).__name__ != "ToolFailure":
        return ""
    reason = getattr(result, "reason", "")
    return str(getattr(reason, "value", reason)) or "tool_error"


def tool_output(result: Any) -> list[Message]:
    readable = isinstance(result, str | int | float | list | dict)
    said = cast("Any", result) if readable else str(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def changed(change: Change) -> dict[str, Any]:
    """The arguments that a hook gave instead."""
    given = change.inputs if change.arguments is None else change.arguments
    if not isinstance(given, Mapping):
        raise TypeError(f"a tool's arguments are given by name, not as {type(given).__name__}")
    return dict(cast("Mapping[str, Any]", given))


def requesting(read: Read) -> Callable[[Any, Args, Kwargs], Request]:
    def request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
        arguments = read(instance, args, kwargs)
        return Request(arguments=arguments, inputs=arguments)

    return request


def carrying(read: Read) -> Callable[[Any, Args, Kwargs], Carried]:
    def carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
        return [in_order(read(instance, args, kwargs))]

    return carries


# ------------------------------------------------------------------------------------------------- tools


def run_arguments(instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    names = _places(instance) if args else ()
    return {**{_name(names, place): one for place, one in enumerate(args)}, **kwargs}


def _places(tool: Any) -> list[str]:
    """The names of the arguments that a tool takes by position."""
    parameters = inspect.signature(getattr(tool, "func", None) or tool._run).parameters.values()
    return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]


def _name(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else str(place)


def run_rewrite(instance: Any, args: Args, _kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if args and len(_places(instance)) < len(args):
        raise ValueError("the arguments of this call have no names; refuse it, or call the tool with keywords")
    return (), changed(change)


RUN = Adapter(
    kind="tool.execute",
    layer=LAYER,
    start=tool_start,
    reading=Reading(names=tool_names, request=requesting(run_arguments), output=tool_output, fault=fault),
    editing=Editing(
        rewrite=run_rewrite, takes=frozenset(("arguments", "inputs")), prepare=tool_prepare, native_error=aborted
    ),
    nesting=Nesting(role="relay", carries=carrying(run_arguments)),
    receiving=Receiving(coerced="twice", later=run_later),
)


def _besides(kwargs: Kwargs) -> dict[str, Any]:
    """Arguments that the tool's function gets without a look at the tool's schema."""
    return {name: one for name, one in kwargs.items() if name not in ("input", "config")}


def invoked_arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return {**arguments_in(INVOKED.given(args, kwargs, "input")), **_besides(kwargs)}


def invoked_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given, besides = changed(change), _besides(kwargs)
    left = {name: one for name, one in kwargs.items() if name not in besides}
    left |= {name: given.pop(name) for name in besides if name in given}
    return INVOKED.having(args, left, input=given)


INVOKED_TOOL = replace(
    RUN,
    reading=replace(RUN.reading, request=requesting(invoked_arguments)),
    editing=replace(RUN.editing, rewrite=invoked_rewrite),
    nesting=replace(RUN.nesting, carries=carrying(invoked_arguments)),
    receiving=Receiving(coerced="twice", later=invoked_later),
)


# ------------------------------------------------------------------------------------------------- inside of models


def executed_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
    name = EXECUTED.given(args, kwargs, "function_name")
    return described(name) if name in (EXECUTED.given(args, kwargs, "available_functions") or ()) else None


def executed_arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return arguments_in(EXECUTED.given(args, kwargs, "function_args"))


def executed_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return EXECUTED.having(args, kwargs, function_args=changed(change))


def executed_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return str(encoded(value))


def executed_rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> str:
    return told(reason)


EXECUTED_FUNCTION = replace(
    RUN,
    start=executed_start,
    reading=replace(RUN.reading, names=None, request=requesting(executed_arguments)),
    editing=replace(
        RUN.editing, rewrite=executed_rewrite, answer=executed_answer, rejected=executed_rejected, prepare=None
    ),
    nesting=replace(RUN.nesting, carries=carrying(executed_arguments)),
    receiving=Receiving(coerced="twice"),
)


def _first(args: Args, kwargs: Kwargs) -> Any:
    return (TOLD.given(args, kwargs, "tool_calls") or (None,))[0]


def told_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
    function = getattr(_first(args, kwargs), "function", None)
    name = named(getattr(function, "name", ""))
    return described(name) if name in (TOLD.given(args, kwargs, "available_functions") or ()) else None


def told_arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return arguments_in(_first(args, kwargs).function.arguments)


def told_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    call = copy.deepcopy(_first(args, kwargs))
    call.function.arguments = json.dumps(changed(change), default=str)
    return TOLD.having(args, kwargs, tool_calls=[call, *TOLD.given(args, kwargs, "tool_calls")[1:]])


TOLD_FUNCTION = replace(
    EXECUTED_FUNCTION,
    start=told_start,
    reading=replace(EXECUTED_FUNCTION.reading, request=requesting(told_arguments)),
    editing=replace(EXECUTED_FUNCTION.editing, rewrite=told_rewrite),
    nesting=replace(EXECUTED_FUNCTION.nesting, carries=carrying(told_arguments)),
)
