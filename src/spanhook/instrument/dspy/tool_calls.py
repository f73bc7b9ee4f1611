"""Tool calls of a model that the application executes itself: ``ToolCalls.ToolCall.execute``, which calls the function
of a tool and not the tool.
"""

import sys
from collections.abc import Mapping
from typing import Any, cast

from dspy import Tool

from spanhook import semconv
from spanhook.instrument.dspy.tools import tool_output
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    exact_text,
    in_order,
    with_first,
)

_BETWEEN = ("spanhook.instrument.", "wrapt.", "dspy.adapters.types.tool")
"""Modules of the frames between ``look_up`` and where the call is made."""


class Rewritten:
    """A function that is called with the arguments that hooks have set."""

    def __init__(self, function: Any, arguments: Mapping[str, Any]) -> None:
        self.function, self.arguments = function, dict(arguments)

    def __call__(self, **_given: Any) -> Any:
        return self.function(**self.arguments)


def _given(args: Args, kwargs: Kwargs) -> Any:
    return args[0] if args else kwargs.get("functions")


def look_up(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """Find the function where the call is made, as DSPy does: it looks into the frame that called it, which is ours."""
    if _given(args, kwargs) is not None:
        return args, kwargs
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(_BETWEEN):
        frame = frame.f_back
    found = frame.f_locals.get(instance.name) or frame.f_globals.get(instance.name)
    return with_first(args, kwargs, "functions", {} if found is None else {instance.name: found})


def _function(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """What is going to be called; ``None`` if nothing is."""
    functions = _given(args, kwargs)
    if isinstance(functions, Mapping):
        return cast("Mapping[str, Any]", functions).get(instance.name)
    tools: Any = functions if isinstance(functions, list) else ()
    return next((tool.func for tool in tools if tool.name == instance.name), None)


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` if it calls a tool, which is gated itself."""
    return None if isinstance(_function(instance, args, kwargs), Tool) else TOOL_CALL


def _arguments(instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    function = _function(instance, args, kwargs)
    return function.arguments if isinstance(function, Rewritten) else dict(instance.args or {})


def call_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: exact_text(instance.name), semconv.GEN_AI_TOOL_TYPE: "function"}
    call = getattr(instance, "id", None)
    if isinstance(call, str) and call:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call
    return attributes


def call_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = _arguments(instance, args, kwargs)
    return Request(arguments=given, inputs=dict(given))


def call_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, args, kwargs))]


def call_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    if given is None:
        return args, kwargs
    function = _function(instance, args, kwargs)
    called = function.function if isinstance(function, Rewritten) else function
    rewritten = Rewritten(called, cast("Mapping[str, Any]", given))
    return with_first(args, kwargs, "functions", {instance.name: rewritten})


TOOL_CALL = Adapter(
    kind="tool.execute",
    layer="dspy.tool",
    start=call_start,
    reading=Reading(request=call_request, output=tool_output),
    editing=Editing(rewrite=call_rewrite, takes=frozenset(("arguments", "inputs"))),
    nesting=Nesting(role="framework", carries=call_carries),
)
