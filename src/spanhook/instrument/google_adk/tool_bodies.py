"""What the function of a tool receives, once the library has made models of its arguments, and checked their types."""

import inspect
from collections.abc import Mapping
from typing import Any

from google.adk.tools.function_tool import FunctionTool

from spanhook.instrument.google_adk.arguments import TOOL as CALL
from spanhook.instrument.receivers import has_own, is_of, is_received
from spanhook.model import Args, Attributes, Kwargs, Receipt, Request, copied


def tool_shown(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    given = CALL.given(args, kwargs, "args") if instance is not None else None
    return copied(dict(given)) if isinstance(given, Mapping) else {}


def tool_received(_instance: Any, args: Args, kwargs: Kwargs, arguments: Any) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, args=arguments)


def tool_received_later(instance: Any, _args: Args, _kwargs: Kwargs) -> bool:
    """Whether the library's own ``run_async`` leads to the function; what yields is called in other ways."""
    if (
        not isinstance(instance, FunctionTool)
        or _yields(instance.func)
        or has_own(instance, "run_async", "_invoke_callable")
    ):
        return False
    return is_of(type(instance), "run_async", FunctionTool) and is_received(type(instance), "_invoke_callable")


def _yields(function: Any) -> bool:
    function = inspect.unwrap(function)
    called = getattr(function, "__call__", None)  # noqa: B004 - an object may yield too
    return any(
        check(one) for one in (function, called) for check in (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    )


# ------------------------------------------------------------------------------------------------- what arrives


def _call(args: Args, kwargs: Kwargs) -> tuple[Any, dict[str, Any]]:
    """What is called, and with which arguments."""
    given = {**dict(zip(("target", "args_to_call"), args, strict=False)), **kwargs}
    return given["target"], given["args_to_call"]


def _arguments(tool: Any, args: Args, kwargs: Kwargs, _shown: Any) -> Any:
    function, arguments = _call(args, kwargs)
    return dict(arguments) if function is tool.func else None  # what says whether to ask for a confirmation is no body


def _visible(tool: Any, arguments: Any) -> Any:
    return {name: value for name, value in arguments.items() if name not in tool._ignore_params}


def _validated(tool: Any, args: Args, kwargs: Kwargs, request: Request, _attributes: Attributes) -> tuple[Args, Kwargs]:
    function, before = _call(args, kwargs)
    given, errors = copied(request.arguments), ()
    if hasattr(tool, "_preprocess_args_with_validation"):
        given, errors = tool._preprocess_args_with_validation(given)
    else:
        given = tool._preprocess_args(given)
    if errors:
        raise ValueError(f"the tool {tool.name!r} does not take these arguments")
    injected = {name: value for name, value in before.items() if name in tool._ignore_params}
    return (function, {**given, **injected}), {}


FUNCTION = Receipt(arguments=_arguments, visible=_visible, validated=_validated)
