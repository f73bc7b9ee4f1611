"""Functions that the SDK runs because a model asked for it: in runs of conversations, and for voice agents."""

import json
from typing import Any

from mistralai.client.types.basemodel import BaseModel

from spanhook.instrument.functions import Functions
from spanhook.instrument.wire import decoded
from spanhook.model import Args, Kwargs, Nesting, copied_model, copies, first, in_order, with_first

copies(BaseModel)(copied_model)


def _call(args: Args, kwargs: Kwargs) -> Any:
    """The call that the model asked for."""
    return first(args, kwargs, "function_call")


def _with_arguments(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    call = _call(args, kwargs)
    made = json.dumps(given) if isinstance(call.arguments, str) else given
    return with_first(args, kwargs, "function_call", call.model_copy(update={"arguments": made}))


def _description(_instance: Any, args: Args, kwargs: Kwargs) -> Any:
    tool = args[1] if len(args) > 1 else kwargs["run_tool"]
    return getattr(getattr(tool.tool, "function", None), "description", "")


def _result(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What tells the model of a result."""
    from mistralai.client.models import FunctionResultEntry

    if isinstance(value, FunctionResultEntry):
        return value
    said = value if isinstance(value, str) else json.dumps(value)
    return FunctionResultEntry(tool_call_id=_call(args, kwargs).tool_call_id, result=said)


def _arguments(_instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return decoded(_call(args, kwargs).arguments)


def _carries(instance: Any, args: Args, kwargs: Kwargs) -> list[str | None]:
    given = _arguments(instance, args, kwargs)
    return [in_order(given) if isinstance(given, dict) else None]


#: ``create_function_result(function_call, run_tool, ...)``. Tools of MCP servers are called inside.
FUNCTION = Functions(
    layer="mistralai.tool",
    name=lambda _instance, args, kwargs: _call(args, kwargs).name,
    description=_description,
    call_id=lambda _instance, args, kwargs: _call(args, kwargs).tool_call_id,
    arguments=_arguments,
    with_arguments=_with_arguments,
    output=lambda result: getattr(result, "result", result),
    answer=_result,
    rejected=_result,
    nesting=Nesting(role="framework", carries=_carries),
).adapter()


def _spoken(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


#: ``invoke(raw_arguments)`` of a function that a voice agent may call.
HANDLER = Functions(
    layer="mistralai.tool",
    name=lambda instance, _args, _kwargs: instance.name,
    description=lambda instance, _args, _kwargs: instance.description,
    arguments=lambda _instance, args, kwargs: decoded(first(args, kwargs, "raw_arguments") or "{}"),
    with_arguments=lambda _instance, args, kwargs, given: with_first(args, kwargs, "raw_arguments", json.dumps(given)),
    answer=_spoken,
    rejected=_spoken,
).adapter()
