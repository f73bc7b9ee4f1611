"""Tools: ``run`` and ``arun`` of ``BaseTool``, which every way of calling a tool ends in."""

from collections.abc import Hashable, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from spanhook import semconv
from spanhook.instrument.langchain_core.announcing import TOOL_RUN
from spanhook.instrument.langchain_core.handoffs import tool_handoffs
from spanhook.instrument.langchain_core.messages import as_content, to_message
from spanhook.instrument.langchain_core.tool_bodies import tool_received, tool_received_later, tool_shown
from spanhook.instrument.langchain_core.tool_inputs import visible
from spanhook.instrument.layers import LANGCHAIN_TOOL_INVOKE
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Receiving,
    Request,
    exact_text,
    first,
    in_order,
    with_first,
)

_RETRIEVING = "langchain_core.tools.retriever"
"""The module that defines the arguments of retriever tools."""


def tool_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = _alike(instance, args, kwargs)
    _note_id(attributes, instance, args, kwargs)
    return attributes


def _watch(instance: Any, _args: Args, _kwargs: Kwargs) -> Hashable:
    name = instance.name
    if type(name) is not str:
        name = exact_text(name)
    return name, instance.description, getattr(instance.args_schema, "__module__", "")


def _alike(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    asks = getattr(instance.args_schema, "__module__", "") == _RETRIEVING
    sort = "datastore" if asks else "function"
    attributes: Attributes = {semconv.GEN_AI_TOOL_NAME: instance.name, semconv.GEN_AI_TOOL_TYPE: sort}
    if instance.description:
        attributes[semconv.GEN_AI_TOOL_DESCRIPTION] = instance.description
    return attributes


def _note_id(attributes: Attributes, _instance: Any, _args: Args, kwargs: Kwargs) -> bool:
    call_id = kwargs.get("tool_call_id")
    if not call_id:
        return False
    attributes[semconv.GEN_AI_TOOL_CALL_ID] = call_id
    return type(call_id) is not str or not call_id.isascii()


def _names(instance: Any, given: Mapping[str, Any]) -> set[str]:
    """The arguments that reach the tool; those missing from its schema are dropped, unless it takes any."""
    schema = getattr(instance, "args_schema", None)
    fields = getattr(schema, "model_fields", None)
    if fields is None or "kwargs" in fields or getattr(schema, "model_config", {}).get("extra") == "allow":
        return set(given)
    aliases = (one for field in fields.values() for one in (field.alias, field.validation_alias))
    return {*fields, *(alias for alias in aliases if isinstance(alias, str))}


def tool_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = first(args, kwargs, "tool_input")
    return Request(arguments=visible(instance, given), inputs=given)


def tool_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    given = first(args, kwargs, "tool_input")
    if change.inputs is not None:
        given = change.inputs
    if change.arguments is not None:
        injected: Mapping[str, Any] = {}
        known = visible(instance, given)
        unknown = change.arguments.keys() - known.keys() - _names(instance, change.arguments)
        if unknown:
            raise ValueError(f"the tool {instance.name!r} has no argument {sorted(map(str, unknown))}")
        if isinstance(given, Mapping):
            injected = {name: value for name, value in given.items() if name not in known}
        given = {**injected, **change.arguments}
    return with_first(args, kwargs, "tool_input", given)


def tool_answer(instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What the tool would have returned: a ``ToolMessage`` if it was called with a tool call."""
    call_id = kwargs.get("tool_call_id")
    if call_id is None:
        return value
    if isinstance(value, ToolMessage):
        # a result kept from an earlier call would carry that call's id
        return value if value.tool_call_id == call_id else value.model_copy(update={"tool_call_id": call_id})
    if type(value).__name__ == "Command":
        return value
    return ToolMessage(content=as_content(value), name=instance.name, tool_call_id=call_id)


def tool_rejected(instance: Any, _args: Args, kwargs: Kwargs, reason: str) -> ToolMessage | None:
    """The error result that tells the model why, if the tool was called with a tool call."""
    call_id = kwargs.get("tool_call_id")
    if call_id is None:
        return None
    return ToolMessage(
        content=f"Tool call rejected: {reason}", name=instance.name, tool_call_id=call_id, status="error"
    )


def tool_carries(instance: Any, args: Args, kwargs: Kwargs) -> list[str | None]:
    """The tool's arguments, as text."""
    arguments = visible(instance, first(args, kwargs, "tool_input"))
    return [in_order(arguments)]


def tool_goes_on(instance: Any) -> bool:
    """Whether the tool's class overrides ``run`` or ``arun`` and may call LangChain's."""
    for cls in type(instance).__mro__:
        if cls is BaseTool:
            break
        if "run" in cls.__dict__ or "arun" in cls.__dict__:
            return True
    return False


def tool_output(result: Any) -> list[Message]:
    if isinstance(result, ToolMessage):
        return [to_message(result)]
    return [{"role": "tool", "parts": [{"type": "tool_call_response", "response": as_content(result)}]}]


TOOL = Adapter(
    kind="tool.execute",
    layer="langchain.tool",
    start=_alike,
    watch=_watch,
    vary=_note_id,
    follows=tool_handoffs,
    reading=Reading(request=tool_request, output=tool_output),
    editing=Editing(
        rewrite=tool_rewrite,
        takes=frozenset(("arguments", "inputs")),
        answer=tool_answer,
        announce=TOOL_RUN,
        rejected=tool_rejected,
    ),
    nesting=Nesting(
        role="framework",
        carries=tool_carries,
        goes_on=tool_goes_on,
        transport_of=frozenset((LANGCHAIN_TOOL_INVOKE,)),  # an overridden `invoke` continues here
    ),
    receiving=Receiving(shown=tool_shown, received=tool_received, later=tool_received_later),
)
