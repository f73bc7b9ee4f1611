"""Functions that the tool runners of Anthropic's SDK run: every way ends in ``call`` of a tool or a toolset."""

from typing import Any

from spanhook.instrument.functions import Functions
from spanhook.model import Args, Kwargs, first, with_first


def _error(reason: str) -> BaseException:
    """The exception that the SDK's runners turn into an error result for the model."""
    from anthropic.lib.tools import ToolError

    return ToolError(reason)


def _given(args: Args, kwargs: Kwargs, place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs[name]


def _with_input(_instance: Any, args: Args, kwargs: Kwargs, given: dict[str, Any]) -> tuple[Args, Kwargs]:
    return ((*args[:2], given), kwargs) if len(args) > 2 else (args, {**kwargs, "input": given})


def _tool_use_id(_instance: Any, args: Args, kwargs: Kwargs) -> Any:
    return getattr(getattr(first(args, kwargs, "context"), "tool_use", None), "id", "")


#: ``call(input)`` of a tool.
TOOL = Functions(
    layer="anthropic.tool",
    name=lambda instance, _args, _kwargs: instance.name,
    description=lambda instance, _args, _kwargs: getattr(instance, "description", ""),
    arguments=lambda _instance, args, kwargs: first(args, kwargs, "input"),
    with_arguments=lambda _instance, args, kwargs, given: with_first(args, kwargs, "input", given),
    error=_error,
).adapter()
#: ``call(context, name, input)`` of a toolset, such as a browser.
MEMBER = Functions(
    layer="anthropic.tool",
    name=lambda _instance, args, kwargs: _given(args, kwargs, 1, "name"),
    call_id=_tool_use_id,
    arguments=lambda _instance, args, kwargs: _given(args, kwargs, 2, "input"),
    with_arguments=_with_input,
    error=_error,
).adapter()
