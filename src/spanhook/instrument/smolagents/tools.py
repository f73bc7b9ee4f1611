"""Tools: ``__call__`` of every ``Tool``, and ``forward`` where it is called directly, as code of a model may.

A refusal is raised. Agents make of it what they make of every exception of a tool: the model is told.
"""

import inspect
from typing import Any

from smolagents.agent_types import AgentImage, handle_agent_output_types

from spanhook import semconv
from spanhook.instrument.smolagents.messages import as_text
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Kwargs,
    Message,
    Request,
    current_record,
    in_order,
)

_OWN = "sanitize_inputs_outputs"
"""The argument of ``__call__`` that is none of the tool's."""


def forward_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a direct call of ``forward``; ``None`` for the one that a call of the tool makes."""
    op = current_record()
    inside = op is not None and op.adapter is TOOL and op.instance is instance and op.called and not op.ended
    return None if inside else TOOL


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: str(instance.name),
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    description = getattr(instance, "description", None)
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _names(tool: Any) -> tuple[str, ...]:
    """The names of a tool's arguments, in the order in which they are passed."""
    if getattr(tool, "skip_forward_signature_validation", False):  # its function takes them in a form of its own
        return tuple(tool.inputs)
    try:
        parameters = inspect.signature(tool.forward).parameters.values()
    except (AttributeError, TypeError, ValueError):
        return tuple(tool.inputs)
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return tuple(tool.inputs)
    return tuple(one.name for one in parameters if one.name != "self")


def _arguments(tool: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """A call's arguments by name. One dict of all of them is taken apart, as the library does."""
    given = {name: value for name, value in kwargs.items() if name != _OWN}
    if not args:
        return given
    if len(args) == 1 and not given and isinstance(args[0], dict) and all(name in tool.inputs for name in args[0]):
        return dict(args[0])
    names = _names(tool)
    by_place = {names[place] if place < len(names) else str(place): value for place, value in enumerate(args)}
    return {**by_place, **given}


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = {name: _raw(value) for name, value in _arguments(instance, args, kwargs).items()}
    return Request(arguments=given, inputs=given)


def _raw(value: Any) -> Any:
    """An argument as the tool gets it: of the library's own images, a file is written whenever they are made a text."""
    return value.to_raw() if isinstance(value, AgentImage) else value


def tool_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, args, kwargs))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    if given is None:
        return args, kwargs
    own = {_OWN: kwargs[_OWN]} if _OWN in kwargs else {}
    return (), {**given, **own}


def tool_output(result: Any) -> list[Message]:
    """What the model is told, as far as it is text."""
    said = result if isinstance(result, str | int | float | list | dict) else as_text(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def tool_answer(instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What a hook answers, in the type that the library gives to results for its agents."""
    return handle_agent_output_types(value, instance.output_type) if kwargs.get(_OWN) else value


TOOL = Adapter(
    kind="tool.execute",
    layer="smolagents.tool",
    start=tool_start,
    request=tool_request,
    output=tool_output,
    rewrite=tool_rewrite,
    takes=frozenset(("arguments", "inputs")),
    answer=tool_answer,
    model_layer=True,
    carries=tool_carries,
)
