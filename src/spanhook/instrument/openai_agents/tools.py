"""Function tools: the application's functions, agents as tools, tools of MCP servers.

All end in the function that a ``FunctionTool`` holds. For a tool with a time limit, the gates stand around the SDK's
function that limits it, so that time spent in them does not count.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents import tool as sdk

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.instrument.openai_agents.signatures import HELD_TOOL
from spanhook.instrument.openai_agents.tool_bodies import ReadArguments, is_function
from spanhook.instrument.wire import decoded, encoded, plain
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    EndDetails,
    InnerCalls,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Receiving,
    Request,
    Usage,
    current_record,
    in_order,
)

LAYER = "openai_agents.tool"
_PREPARED = "_function_tool_arguments"
"""Where newer versions keep arguments that an approval has already parsed."""
_DEFAULT = "_function_tool_default_failure_handled"
"""Where newer versions note that what the model is told is the SDK's own error, which no output schema fits."""
_TELLING = "maybe_invoke_function_tool_failure_error_function"
_TIMED = "_invoke_function_tool_with_metadata"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function tool.

    Attributes:
        tool: The tool.
        context: The SDK's context of the call.
        arguments: Its arguments as JSON.
    """

    tool: Any
    context: Any
    arguments: str


Read = Callable[[Any, Args, Kwargs], Call]


def held_call(instance: Any, args: Args, kwargs: Kwargs) -> Call:
    """A call of the function that the tool holds."""
    context, arguments = (HELD_TOOL.given(args, kwargs, name) for name in ("ctx", "input"))
    return Call(instance, context, arguments)


def invoked_call(_instance: Any, _args: Args, kwargs: Kwargs) -> Call:
    """A call through the SDK's function."""
    return Call(kwargs["function_tool"], kwargs["context"], kwargs["arguments"])


def with_arguments(args: Args, kwargs: Kwargs, value: str) -> tuple[Args, Kwargs]:
    if "function_tool" in kwargs:
        return args, {**kwargs, "arguments": value}
    return HELD_TOOL.having(args, kwargs, input=value)


# ----------------------------------------------------------------------------------------------- reading calls


def describe(tool: Any, context: Any, sort: str) -> Attributes:
    """Start attributes of a tool call."""
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: tool.name, semconv.GEN_AI_TOOL_TYPE: sort}
    call_id = getattr(context, "tool_call_id", None)
    if call_id:
        attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    description = getattr(tool, "description", None)
    if description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def _sort(tool: Any) -> str:
    origin = getattr(getattr(tool, "_tool_origin", None), "type", None)
    return "extension" if getattr(origin, "value", "") == "mcp" else "function"


def _request(call: Call) -> Request:
    given = call.arguments
    arguments = given.values if isinstance(given, ReadArguments) else decoded(given or "{}")
    return Request(arguments=arguments if isinstance(arguments, dict) else {}, inputs=arguments)


def _rewritten(call: Call, change: Change) -> str:
    """The arguments of a rewritten call.

    Raises:
        ValueError: The tool takes no argument of a name.
    """
    if change.arguments is None:
        return encoded(change.inputs)
    schema: Mapping[str, Any] = call.tool.params_json_schema
    if schema.get("additionalProperties") is False:
        unknown = change.arguments.keys() - (schema.get("properties") or {}).keys()
        if unknown:
            raise ValueError(f"the tool {call.tool.name!r} has no argument {sorted(map(str, unknown))}")
    return json.dumps(dict(change.arguments), ensure_ascii=False, default=str)


def _forget(call: Call) -> None:
    """Leave what was parsed before the arguments were rewritten, or what hooks have not seen."""
    prepared, op = getattr(call.context, _PREPARED, None), current_record()
    if prepared is not None and (prepared.arguments != call.arguments or (op is not None and op.plan is not None)):
        setattr(call.context, _PREPARED, None)


# ----------------------------------------------------------------------------------------------- results


def tool_output(result: Any) -> list[Message]:
    """What the model is told: text and structured parts as they are."""
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": _response(result)}]}]


def _response(result: Any) -> Any:
    if isinstance(result, list):
        return [_response(one) for one in result]
    return plain(result) if hasattr(result, "to_dict") else _fields(result)


def _fields(result: Any) -> Any:
    return result.model_dump(mode="json", exclude_none=True) if hasattr(result, "model_dump") else result


async def refused(call: Call, reason: str) -> Any:
    """The error that the model is told: made by the application's own function for that, if the tool has one."""
    error, told = Reject(reason), None
    if hasattr(sdk, _TELLING):
        told = await getattr(sdk, _TELLING)(function_tool=call.tool, context=call.context, error=error)
    if told is not None and told != sdk.default_tool_error_function(call.context, error):
        return told
    setattr(call.context, _DEFAULT, True)
    return f"Tool call rejected: {reason}"


def _stays(_instance: Any) -> bool:
    """What a call carries need not be noted before its gates: its arguments are text, which nobody changes."""
    return False


def _tool(read: Read) -> Adapter:
    """The adapter of calls that are read in this way."""

    def start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
        call = read(instance, args, kwargs)
        return describe(call.tool, call.context, _sort(call.tool))

    def request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
        return _request(read(instance, args, kwargs))

    def rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        return with_arguments(args, kwargs, _rewritten(read(instance, args, kwargs), change))

    def prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        _forget(read(instance, args, kwargs))
        return args, kwargs

    def rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
        return refused(read(instance, args, kwargs), reason)

    def shown(instance: Any, args: Args, kwargs: Kwargs) -> Any:
        return request(instance, args, kwargs).arguments

    def received(_instance: Any, args: Args, kwargs: Kwargs, arguments: Any) -> tuple[Args, Kwargs]:
        return with_arguments(args, kwargs, ReadArguments.of(arguments))

    def received_later(instance: Any, args: Args, kwargs: Kwargs) -> bool:
        return is_function(read(instance, args, kwargs).tool)

    def carries(instance: Any, args: Args, kwargs: Kwargs) -> list[str | None]:
        given = _request(read(instance, args, kwargs)).arguments
        return [in_order(given)]

    return Adapter(
        kind="tool.execute",
        layer=LAYER,
        start=start,
        reading=Reading(request=request, output=tool_output),
        editing=Editing(rewrite=rewrite, takes=frozenset(("arguments", "inputs")), prepare=prepare, rejected=rejected),
        nesting=Nesting(role="framework", carries=carries, goes_on=_stays),
        receiving=Receiving(coerced="twice", shown=shown, received=received, later=received_later),
    )


TOOL = _tool(held_call)


def held(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of the function that a tool holds; ``None`` if the SDK calls it within its time limit."""
    op = current_record()
    if (
        op is not None
        and op.adapter in (INVOKED, TIMED)
        and not op.inner.opened
        and op.kwargs["function_tool"] is instance
    ):
        op.part(InnerCalls).opened = True
        return None
    return TOOL


# ----------------------------------------------------------------------------------------------- with a time limit


INVOKED = _tool(invoked_call)


def invoked(_instance: Any, _args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of the SDK's function, if it limits the time and does not leave that to ``TIMED``."""
    limited = getattr(kwargs["function_tool"], "timeout_seconds", None) is not None
    return INVOKED if limited and not hasattr(sdk, _TIMED) else None


def timed(_instance: Any, _args: Args, kwargs: Kwargs) -> Adapter | None:
    """The same for the function that newer versions have for it."""
    return TIMED if kwargs["function_tool"].timeout_seconds is not None else None


def timed_response(result: Any) -> tuple[Attributes, Usage | None]:
    op = current_record()
    if op is not None:
        op.part(EndDetails).raw = result.output
    return {}, None


def timed_output(result: Any) -> list[Message]:
    return tool_output(result.output)


def timed_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    made: Any = getattr(sdk, "_FunctionToolInvocationResult")  # noqa: B009 - not in every version
    return value if isinstance(value, made) else made(value)


async def timed_refused(call: Call, reason: str) -> Any:
    return getattr(sdk, "_FunctionToolInvocationResult")(await refused(call, reason), is_sdk_generated_error=True)  # noqa: B009


def timed_rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
    return timed_refused(invoked_call(instance, args, kwargs), reason)


TIMED = replace(
    INVOKED,
    reading=replace(INVOKED.reading, response=timed_response, output=timed_output),
    editing=replace(INVOKED.editing, answer=timed_answer, rejected=timed_rejected),
)


# ----------------------------------------------------------------------------------------------- failures


def failed(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The SDK makes a message for the model of what a tool has just raised: its operation has failed all the same."""
    op, error = current_record(), sys.exception()
    if op is not None and error is not None and op.adapter.layer == LAYER and op.called:
        op.part(EndDetails).handled = error
    return args, kwargs


def timed_out(error: Any, _args: Args, _kwargs: Kwargs, _result: Any) -> None:
    """A tool has run out of time, of which the SDK may make a message too."""
    op = current_record()
    if op is not None and op.adapter in (INVOKED, TIMED) and op.called:
        op.part(EndDetails).handled = error
