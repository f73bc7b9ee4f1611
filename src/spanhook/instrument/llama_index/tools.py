"""Tools: ``call``, ``acall`` and ``__call__`` of every ``BaseTool``, and the library's own way of trying to call one.

A refusal is raised. Agents make of it what they make of every exception of a tool, and so does ``call_tool``: an output
that is an error, which the model is told.
"""

import inspect
from collections.abc import Mapping
from typing import Any, cast

from llama_index.core.tools.function_tool import FunctionTool
from llama_index.core.tools.types import AsyncBaseTool, BaseToolAsyncAdapter, ToolOutput

from spanhook import semconv
from spanhook.instrument.layers import LLAMA_INDEX_TOOL
from spanhook.instrument.llama_index.arguments import CALLING
from spanhook.instrument.llama_index.handoffs import HANDOFF, is_handoff
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
    copied_model,
    copies,
    current_record,
    exact_text,
    gated_by,
    in_order,
)

copies(ToolOutput)(copied_model)


_OUTPUT, _PROGRAMS = "get_function_tool.<locals>.model_fn", "llama_index.core.program."
_OWN_CALLS = tuple(
    getattr(one.__dict__["__call__"], "__wrapped__", one.__dict__["__call__"]) for one in (AsyncBaseTool, FunctionTool)
)
"""What leads to ``call`` of the same tool."""


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one of what only passes it on, and for one that is tried by ``call_tool``."""
    if type(instance) is BaseToolAsyncAdapter or is_output(instance) or _is_tried(instance, args, kwargs):
        return None
    return HANDOFF if is_handoff(instance) else TOOL


def is_output(tool: Any) -> bool:
    """Whether a tool is the library's own for structured output, which only makes an object of a model's answer."""
    function = tool.real_fn if isinstance(tool, FunctionTool) else None
    return getattr(function, "__qualname__", "") == _OUTPUT and function.__module__.startswith(_PROGRAMS)


def called_chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """``chosen`` for ``__call__``; that of the library's own tools goes on in ``call``."""
    return None if leads_on(type(instance)) else chosen(instance, args, kwargs)


def leads_on(cls: type) -> bool:
    """Whether ``__call__`` of a class of tools is the library's own, which leads to ``call``."""
    found = next((one.__dict__["__call__"] for one in cls.__mro__ if "__call__" in one.__dict__), None)
    while found is not None and found not in _OWN_CALLS:
        found = getattr(found, "__wrapped__", None)
    return found is not None


# ------------------------------------------------------------------------------------------------- arguments


def _context(tool: Any) -> str:
    """The name of the argument for the context of a run, which is none of the model's."""
    return exact_text(getattr(tool, "ctx_param_name", None)) if isinstance(tool, FunctionTool) else ""


def _set(tool: Any) -> Mapping[str, Any]:
    """The arguments that the application has set once and for all."""
    return cast("Mapping[str, Any]", tool.partial_params) if isinstance(tool, FunctionTool) else {}


def _places(tool: Any, args: Args) -> list[str]:
    """The names of arguments that are given by place; the number of a place that has none."""
    names = _names(tool)
    return [names[place] if place < len(names) else str(place) for place in range(len(args))]


def _names(tool: Any) -> list[str]:
    """The names of a tool's arguments, in the order in which they are passed."""
    try:
        if isinstance(tool, FunctionTool):
            return [name for name in inspect.signature(tool.real_fn).parameters if name != "self"]
        return list(tool.metadata.get_parameters_dict()["properties"])
    except Exception:
        return []  # a schema of the application's own, which may raise anything


def arguments_of(tool: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """A call's arguments by name, without what the library adds."""
    placed = dict(zip(_places(tool, args), args, strict=True)) if args else {}
    given = {**_set(tool), **placed, **kwargs}
    given.pop(_context(tool), None)
    return given


# ------------------------------------------------------------------------------------------------- calls


def _name_of(tool: Any) -> str:
    return exact_text(tool.metadata.name) or type(tool).__name__


def _described(tool: Any) -> Attributes:
    attributes: Attributes = {
        semconv.GEN_AI_TOOL_NAME: _name_of(tool),
        semconv.GEN_AI_TOOL_TYPE: "function",
    }
    description = tool.metadata.description
    if isinstance(description, str) and description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = description
    return attributes


def tool_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    return _described(instance)


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = arguments_of(instance, args, kwargs)
    return Request(arguments=given, inputs=given)


def tool_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [in_order(arguments_of(instance, args, kwargs))]


def tool_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    if given is None:
        return args, kwargs
    own = {name: one for name, one in kwargs.items() if name == _context(instance)}
    placed = [] if isinstance(instance, FunctionTool) else _places(instance, args)
    if not placed or any(name not in given for name in placed):
        return (), {**given, **own}
    rest = {name: one for name, one in given.items() if name not in placed}
    return tuple(given[name] for name in placed), {**rest, **own}  # a tool may take them in no other way


def tool_output(result: Any) -> list[Message]:
    """What the model is told."""
    told = result.content if isinstance(result, ToolOutput) else result
    said = told if isinstance(told, str | int | float | list | dict) else str(told)
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": encoded(said)}]}]


def tool_fault(result: Any) -> str:
    """Why an output says that the tool has failed: exceptions of tools become such outputs."""
    if not isinstance(result, ToolOutput) or not result.is_error:
        return ""
    return type(result.exception).__name__ if result.exception is not None else "tool_error"


def output_of(tool: Any, given: dict[str, Any], value: Any) -> ToolOutput:
    """What a tool gives that has returned a value, unless it is an output already."""
    if isinstance(value, ToolOutput):
        return value
    return ToolOutput(content=str(value), tool_name=_name_of(tool), raw_input=given, raw_output=value)


def tool_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> ToolOutput:
    return output_of(instance, {"args": (), "kwargs": arguments_of(instance, args, kwargs)}, value)


TOOL = Adapter(
    kind="tool.execute",
    layer=LLAMA_INDEX_TOOL,
    start=tool_start,
    reading=Reading(request=tool_request, output=tool_output, fault=tool_fault),
    editing=Editing(rewrite=tool_rewrite, takes=frozenset(("arguments", "inputs")), answer=tool_answer),
    nesting=Nesting(
        role="framework",
        carries=tool_carries,
        transport_of=frozenset((LLAMA_INDEX_TOOL,)),  # ``acall`` may be made of ``call``
    ),
    traits=frozenset(("pools",)),  # functions that are not async, in older versions
)


# ------------------------------------------------------------------------------------------------- call_tool


def _asked(args: Args, kwargs: Kwargs) -> tuple[Any, dict[str, Any]]:
    """The tool that is called, and its arguments."""
    tool = CALLING.given(args, kwargs, "tool")
    tool = tool.base_tool if type(tool) is BaseToolAsyncAdapter else tool
    return tool, dict(CALLING.given(args, kwargs, "arguments") or {})


def _is_tried(tool: Any, args: Args, kwargs: Kwargs) -> bool:
    """Whether a call of a tool is what ``call_tool`` was asked for: it may call it in one way, and then in another."""
    op = current_record()
    if op is None or op.adapter is not CALLED or not op.called or op.ended:
        return False
    asked, given = _asked(op.args, op.kwargs)
    if asked is not tool:
        return False
    if args and not kwargs and len(args) == len(given):
        args, kwargs = (), dict(zip(given, args, strict=True))
    return [in_order(arguments_of(tool, args, kwargs))] == gated_by(op)  # they may have been edited in place since


def tried(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` where the tool's own is gated, or is no operation."""
    tool = _asked(args, kwargs)[0]
    return None if is_handoff(tool) or is_output(tool) else CALLED


def called_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return _described(_asked(args, kwargs)[0])


def called_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    tool, given = _asked(args, kwargs)
    return tool_request(tool, (), given)


def called_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    tool, given = _asked(args, kwargs)
    return tool_carries(tool, (), given)


def called_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = change.inputs if change.arguments is None else change.arguments
    return (args, kwargs) if given is None else CALLING.having(args, kwargs, arguments=dict(given))


def called_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> ToolOutput:
    tool, given = _asked(args, kwargs)
    return output_of(tool, given, value)


def called_rejected(_instance: Any, args: Args, kwargs: Kwargs, reason: str) -> ToolOutput:
    """What the library makes of an exception of the tool."""
    tool, given = _asked(args, kwargs)
    return ToolOutput(
        content=f"Encountered error: {reason}",
        tool_name=_name_of(tool),
        raw_input=given,
        raw_output=reason,
        is_error=True,
    )


CALLED = Adapter(
    kind="tool.execute",
    layer=LLAMA_INDEX_TOOL,
    start=called_start,
    reading=Reading(request=called_request, output=tool_output, fault=tool_fault),
    editing=Editing(
        rewrite=called_rewrite, takes=frozenset(("arguments", "inputs")), answer=called_answer, rejected=called_rejected
    ),
    nesting=Nesting(role="framework", carries=called_carries),
    traits=frozenset(("pools",)),
)
