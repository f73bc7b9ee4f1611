"""``Tool.run``, which calls a tool's function: within a request, or for code in the server's own process."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.layers import MCP_SERVER
from spanhook.instrument.mcp.failures import error_type, failure
from spanhook.instrument.mcp.results import fault, tool_output
from spanhook.instrument.mcp.tool_bodies import is_own
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
    Receiving,
    Request,
    first,
    in_order,
    with_first,
)


def _start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: instance.name, semconv.GEN_AI_TOOL_TYPE: "function"}
    if instance.description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = instance.description
    return attributes


def _request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(arguments=dict(first(args, kwargs, "arguments") or {}))


def _rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return with_first(args, kwargs, "arguments", dict(change.arguments or {}))


def _carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(first(args, kwargs, "arguments") or {})]


def _answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What the function returned, or what the SDK makes of that for a client."""
    converts = args[2] if len(args) > 2 else kwargs.get("convert_result", False)
    return instance.fn_metadata.convert_result(value) if converts else value


def _output(result: Any) -> list[Message]:
    """A result for a client may be blocks of content, alone or with their structured form."""
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], list):
        result = result[0]
    if isinstance(result, list):
        return tool_output({"content": result}) if all(hasattr(one, "type") for one in result) else _plain(result)
    return tool_output(result) if hasattr(result, "content") else _plain(result)


def _plain(result: Any) -> list[Message]:
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": str(result)}]}]


def _received_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    return is_own(instance)


RUN = Adapter(
    kind="tool.execute",
    layer=MCP_SERVER,
    start=_start,
    reading=Reading(request=_request, output=_output, fault=fault, error_type=error_type, failure=failure),
    editing=Editing(rewrite=_rewrite, takes=frozenset(("arguments",)), answer=_answer),
    nesting=Nesting(carries=_carries),
    receiving=Receiving(later=_received_later),
)
