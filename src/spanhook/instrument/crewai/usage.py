"""How agents use tools, in front of CrewAI's cache: a call that the model wrote as text (``ToolUsage``), or gave in its
provider's form. The model is told of a refusal, and the tool is not tried again.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spanhook import semconv
from spanhook.instrument.crewai.arguments import NATIVE, USED
from spanhook.instrument.crewai.refusals import told
from spanhook.instrument.crewai.tool_calls import arguments_in, made, named, names_of, read
from spanhook.instrument.crewai.tools import (
    RUN,
    carrying,
    changed,
    described,
    fault,
    pass_on,
    requesting,
    tool_output,
)
from spanhook.instrument.wire import encoded
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Kwargs,
    Message,
    Receiving,
    current_record,
    exact_text,
    in_order,
)

try:
    from crewai.tools.tool_failure import ToolFailure
except ImportError:  # before 1.15.9
    ToolFailure = None

_FAILED = "Error executing tool: "
_FAULT = "tool_error"


def chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a use; ``None`` for one that is tried again."""
    op = current_record()
    again = op is not None and op.adapter is USE and op.called and not op.ended and op.instance is instance
    return None if again else USE


# ------------------------------------------------------------------------------------------------- as text


def used_start(_instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    tool = USED.given(args, kwargs, "tool")
    return described(tool.name, getattr(tool, "description", None))


def used_names(_instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str]:
    return names_of(USED.given(args, kwargs, "tool").name)


def used_arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    return {**(USED.given(args, kwargs, "calling").arguments or {})}


def used_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """All arguments, and those that the tool knows: it is asked with these first."""
    arguments = used_arguments(instance, args, kwargs)
    known = getattr(USED.given(args, kwargs, "tool").args_schema, "model_fields", None) or {}
    taken = {*known, *(one.alias for one in known.values())}
    few = {name: one for name, one in arguments.items() if name in taken}
    return [in_order(arguments), in_order(few)]


def used_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    calling = USED.given(args, kwargs, "calling")
    return USED.having(args, kwargs, calling=calling.model_copy(update={"arguments": changed(change)}))


def used_prepare(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    pass_on(USED.given(args, kwargs, "tool"))
    return args, kwargs


def used_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> str:
    """What the agent gets, which CrewAI's own hooks see as the tool's result too."""
    text = str(encoded(value))
    known = _kept(instance, args, kwargs)
    if known is not None:
        known["result"] = text
    return _noted(instance, text, None)


def used_rejected(instance: Any, args: Args, kwargs: Kwargs, reason: str) -> str:
    known = _kept(instance, args, kwargs)
    if known is not None:
        known["result"] = told(reason)
        known.pop("result_as_answer", None)
    return _noted(instance, told(reason), _failure(told(reason)))


def _kept(usage: Any, args: Args, kwargs: Kwargs) -> dict[str, Any] | None:
    """The tool's result as the agent has kept it, maybe for the task's answer; ``None`` before the call."""
    if usage.get_last_raw_result(None) is None:
        return None
    tool, asked = named(USED.given(args, kwargs, "tool").name), USED.given(args, kwargs, "calling").arguments
    kept = getattr(usage.agent, "tools_results", None) or ()
    return next((one for one in reversed(kept) if one["tool_args"] is asked and one["tool_name"] == tool), None)


def _failure(message: str) -> Any:
    """What keeps a refusal from becoming the task's answer."""
    return None if ToolFailure is None else ToolFailure(message=message)


def _noted(usage: Any, text: str, failure: Any) -> str:
    usage.last_raw_result = text
    if ToolFailure is not None:
        usage.last_failure = failure
    return text


def used_fault(_result: Any) -> str:
    op = current_record()
    if op is None or op.decided.replaced or not op.called:
        return ""
    if ToolFailure is not None:
        return fault(op.instance.last_failure)
    return _FAULT if op.instance._run_attempts > op.instance._max_parsing_attempts else ""


USE = replace(
    RUN,
    start=used_start,
    reading=replace(RUN.reading, names=used_names, request=requesting(used_arguments), fault=used_fault),
    editing=replace(
        RUN.editing,
        rewrite=used_rewrite,
        prepare=used_prepare,
        answer=used_answer,
        rejected=used_rejected,
        native_error=None,
    ),
    nesting=replace(RUN.nesting, role="framework", carries=used_carries),
    receiving=Receiving(coerced="twice"),
)


# ------------------------------------------------------------------------------------- in a provider's form


def _called(args: Args, kwargs: Kwargs) -> tuple[str, str, dict[str, Any]] | None:
    if "func_name" in kwargs:  # the executor that newer versions no longer have
        return str(kwargs.get("call_id")), exact_text(kwargs["func_name"]), arguments_in(kwargs.get("func_args"))
    return read(NATIVE.given(args, kwargs, "tool_call"))


def _tool(instance: Any, args: Args, kwargs: Kwargs) -> Any:
    """The tool that a call is for, if it is known."""
    call = _called(args, kwargs)
    given = kwargs.get("original_tools") or getattr(instance, "original_tools", None) or ()
    known = kwargs.get("original_tool")
    if known is None and call is not None:
        mapping: dict[str, Any] = getattr(instance, "_tool_name_mapping", None) or {}
        known = mapping.get(call[1])  # of two tools with one name, the second is told to the model under another
    if known is None and call is not None:
        known = next((one for one in given if named(one.name) == call[1]), None)
    return known


def native_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes | None:
    call = _called(args, kwargs)
    if call is None or not call[1]:
        return None  # nothing that CrewAI could execute
    attributes = described(call[1], getattr(_tool(instance, args, kwargs), "description", None))
    attributes[semconv.GEN_AI_TOOL_CALL_ID] = call[0]
    return attributes


def native_names(instance: Any, args: Args, kwargs: Kwargs) -> frozenset[str]:
    call = _called(args, kwargs)
    return names_of("" if call is None else call[1], getattr(_tool(instance, args, kwargs), "name", ""))


def native_arguments(_instance: Any, args: Args, kwargs: Kwargs) -> dict[str, Any]:
    call = _called(args, kwargs)
    return {} if call is None else call[2]


def native_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    call = _called(args, kwargs)
    if call is None:
        raise ValueError("a tool call in an unknown form cannot be rewritten; refuse it, or answer it")
    arguments = changed(change)
    if "func_name" in kwargs:
        return args, {**kwargs, "func_args": arguments}
    return NATIVE.having(args, kwargs, tool_call=made(call[0], call[1], arguments))


def native_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    pass_on(_tool(instance, args, kwargs))
    return args, kwargs


def _text(result: Any) -> str:
    return str(result["result"] if isinstance(result, dict) else getattr(result, "result", result))


def native_output(result: Any) -> list[Message]:
    return tool_output(_text(result))


def native_fault(result: Any) -> str:
    if isinstance(result, dict) and result.get("tool_failure") is not None:
        return fault(result["tool_failure"])
    return _FAULT if _text(result).startswith(_FAILED) else ""


def native_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> dict[str, Any]:
    return _result(args, kwargs, str(encoded(value)), _tool(instance, args, kwargs), None)


def native_amend(result: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> dict[str, Any]:
    return {**result, "result": str(encoded(value)), "tool_failure": None}


def native_rejected(_instance: Any, args: Args, kwargs: Kwargs, reason: str) -> dict[str, Any]:
    return _result(args, kwargs, told(reason), None, _failure(told(reason)))


def _result(args: Args, kwargs: Kwargs, text: str, tool: Any, failure: Any) -> dict[str, Any]:
    call_id, name, arguments = _called(args, kwargs) or ("unknown", "unknown", {})
    return {
        "call_id": call_id,
        "func_name": name,
        "result": text,
        "tool_args": arguments,
        "from_cache": False,
        "original_tool": tool,
        "tool_failure": failure,
    }


NATIVE_USE = replace(
    USE,
    start=native_start,
    reading=replace(
        USE.reading, names=native_names, request=requesting(native_arguments), output=native_output, fault=native_fault
    ),
    editing=replace(
        USE.editing,
        rewrite=native_rewrite,
        prepare=native_prepare,
        answer=native_answer,
        amend=native_amend,
        rejected=native_rejected,
    ),
    nesting=replace(USE.nesting, carries=carrying(native_arguments)),
)


def step_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    found = _tool(instance, args, kwargs)
    return _step(args, kwargs, str(encoded(value)), is_answer=bool(getattr(found, "result_as_answer", False)))


def step_amend(result: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    text = str(encoded(value))
    return type(result)(
        call_id=result.call_id,
        func_name=result.func_name,
        result=text,
        from_cache=result.from_cache,
        result_as_answer=result.result_as_answer,
        tool_message={**result.tool_message, "content": text},
    )


def step_rejected(_instance: Any, args: Args, kwargs: Kwargs, reason: str) -> Any:
    return _step(args, kwargs, told(reason), is_answer=False)


def _step(args: Args, kwargs: Kwargs, text: str, *, is_answer: bool) -> Any:
    call_id, name, _ = _called(args, kwargs) or ("unknown", "unknown", {})
    return _result_class()(
        call_id=call_id,
        func_name=name,
        result=text,
        result_as_answer=is_answer,
        tool_message={"role": "tool", "tool_call_id": call_id, "name": name, "content": text},
    )


def _result_class() -> Callable[..., Any]:
    from crewai.utilities.agent_utils import NativeToolCallResult

    return NativeToolCallResult


STEP_USE = replace(
    NATIVE_USE, editing=replace(NATIVE_USE.editing, answer=step_answer, amend=step_amend, rejected=step_rejected)
)
