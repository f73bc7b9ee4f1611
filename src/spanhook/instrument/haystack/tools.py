"""Tools: ``invoke`` and ``invoke_async`` of every ``Tool``: functions, components, pipelines, agents, tools of MCP.

A refusal is raised as what a tool raises that has failed. Agents make a result of that, which the model is told.
"""

from collections.abc import Mapping
from typing import Any

from haystack.components.agents.state.state import State

from spanhook import semconv
from spanhook.instrument.haystack.describing import PROVIDER
from spanhook.instrument.haystack.refusals import of_tool
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

_LAYER = f"{PROVIDER}.tool"


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    is_remote = any(one.__name__ == "MCPTool" for one in type(instance).__mro__)
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: exact_text(instance.name),
        semconv.GEN_AI_TOOL_TYPE: "extension" if is_remote else "function",
    }
    description = instance.description
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _arguments(kwargs: Kwargs) -> dict[str, Any]:
    """What the model asks for, and what the tool takes from the agent's state; not the state itself."""
    return {name: value for name, value in kwargs.items() if not _is_given(name, value)}


def _is_given(name: str, value: Any) -> bool:
    """Whether the library itself gives an argument."""
    return isinstance(value, State) or (name == "streaming_callback" and callable(value))


def tool_request(_instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    arguments = _arguments(kwargs)
    return Request(arguments=arguments, inputs=arguments)


def tool_carries(_instance: Any, _args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(kwargs))]


def tool_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    kept = {name: value for name, value in kwargs.items() if _is_given(name, value)}
    return args, {**dict(given), **kept}


def tool_output(result: Any) -> list[Message]:
    told = result if isinstance(result, str | int | float | list | dict) else str(result)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(told)}]}]


def tool_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """What the tool would have returned: a value, or an output of that value if the model is told of one output."""
    config = getattr(instance, "outputs_to_string", None)
    source = config.get("source") if isinstance(config, Mapping) else None
    if isinstance(source, str) and not isinstance(value, Mapping):
        return {source: value}
    return value


TOOL = Adapter(
    kind="tool.execute",
    layer=_LAYER,
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), answer=tool_answer, native_error=of_tool
    ),
    nesting=Nesting(
        role="framework",
        carries=tool_carries,
        transport_of=frozenset((_LAYER,)),  # ``invoke_async`` may be made of ``invoke``
    ),
)
