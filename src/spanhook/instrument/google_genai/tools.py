"""Functions, and tools of MCP servers, that the SDK runs for a model. It tells the model of what they raise."""

from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.functions import Functions
from spanhook.model import Args, Carried, Kwargs, Nesting, first, in_order, with_first

_LAYER = "google_genai.tool"


def _rejected(_instance: Any, _args: Args, _kwargs: Kwargs, reason: str) -> BaseException:
    """The exception that the SDK raises for a function that fails, and tells the model of."""
    from google.genai.errors import FunctionInvocationError

    return FunctionInvocationError(reason)


# ----------------------------------------------------------------------------------- functions: (args, function)


def _function(args: Args, kwargs: Kwargs) -> Any:
    return args[1] if len(args) > 1 else kwargs["function_to_invoke"]


FUNCTION = Functions(
    layer=_LAYER,
    name=lambda _instance, args, kwargs: getattr(_function(args, kwargs), "__name__", ""),
    description=lambda _instance, args, kwargs: getattr(_function(args, kwargs), "__doc__", ""),
    arguments=lambda _instance, args, kwargs: first(args, kwargs, "args"),
    with_arguments=lambda _instance, args, kwargs, given: with_first(args, kwargs, "args", given),
    rejected=_rejected,
).adapter()


# ----------------------------------------------------------------------------------- tools of MCP: (call)


def _called(args: Args, kwargs: Kwargs) -> Any:
    return first(args, kwargs, "function_call")


def _arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return dict(_called(args, kwargs).args or {})


def _with_arguments(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    call = _called(args, kwargs).model_copy(update={"args": given})
    return with_first(args, kwargs, "function_call", call)


def _answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    """What the session would have returned."""
    from mcp.types import CallToolResult

    if isinstance(value, CallToolResult):
        return value
    content = cast("list[Any]", value) if isinstance(value, list) else [{"type": "text", "text": str(value)}]
    return CallToolResult.model_validate({"content": content})


def _carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(_arguments(instance, args, kwargs))]


def _fault(result: Any) -> str:
    return semconv.TOOL_ERROR if getattr(result, "isError", getattr(result, "is_error", False)) else ""


def _output(result: Any) -> Any:
    return result.model_dump(mode="json", exclude_none=True) if hasattr(result, "model_dump") else result


#: One call of a tool; where MCP's SDK is bound too, that is its transport.
OF_MCP = Functions(
    layer=_LAYER,
    name=lambda _instance, args, kwargs: _called(args, kwargs).name,
    call_id=lambda _instance, args, kwargs: _called(args, kwargs).id or "",
    arguments=_arguments,
    with_arguments=_with_arguments,
    output=_output,
    answer=_answer,
    rejected=_rejected,
    fault=_fault,
    nesting=Nesting(role="framework", carries=_carries),
).adapter()
