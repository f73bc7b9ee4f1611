"""Functions that runs of conversations execute: every one ends in ``create_function_result``."""

import json
from typing import Any

from spanhook.instrument.functions import Functions
from spanhook.instrument.wire import decoded
from spanhook.model import Args, Kwargs, first, with_first


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


#: ``create_function_result(function_call, run_tool, ...)``.
FUNCTION = Functions(
    layer="mistralai.tool",
    name=lambda _instance, args, kwargs: _call(args, kwargs).name,
    description=_description,
    call_id=lambda _instance, args, kwargs: _call(args, kwargs).tool_call_id,
    arguments=lambda _instance, args, kwargs: decoded(_call(args, kwargs).arguments),
    with_arguments=_with_arguments,
    output=lambda result: getattr(result, "result", result),
    answer=_result,
    rejected=_result,
).adapter()
