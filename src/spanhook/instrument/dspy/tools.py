"""Tools: ``Tool.__call__`` and ``acall``. Agents tell the model of what they raise, and so of a refusal."""

from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    exact_text,
    in_order,
)


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: exact_text(instance.name),
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    if isinstance(instance.desc, str) and instance.desc:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = instance.desc
    return attributes


def tool_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    return Request(arguments=dict(kwargs), inputs=dict(kwargs))


def tool_carries(_instance: Any, _args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(kwargs)]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    return args, kwargs if given is None else dict(given)


def tool_output(result: Any) -> list[Message]:
    readable = isinstance(result, str | int | float | list | dict)
    told = cast("Any", result) if readable else str(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(told)}]}]


TOOL = Adapter(
    kind="tool.execute",
    layer="dspy.tool",
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output),
    editing=Editing(rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs"))),
    nesting=Nesting(role="framework", carries=tool_carries),
)
