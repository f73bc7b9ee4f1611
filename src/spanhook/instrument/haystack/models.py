"""Models: ``run`` and ``run_async`` of every chat generator, whatever it sends its requests through."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.haystack.arguments import given, having, outputs_of
from spanhook.instrument.haystack.callbacks import announced, callback_of, hold
from spanhook.instrument.haystack.describing import describe, model_of
from spanhook.instrument.haystack.messages import (
    instructed,
    listed,
    natives,
    read,
    read_all,
    rewritten,
    system_of,
)
from spanhook.instrument.haystack.responses import amended, model_output, model_response, result_of
from spanhook.instrument.layers import HAYSTACK_MODEL
from spanhook.instrument.wire import last_text, one_prompt
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Editing, Kwargs, Nesting, Reading, Request


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one without messages, and for a component that says that it gives no replies.

    One that does not say what it gives may be a generator, which agents ask without looking at that.
    """
    declared = outputs_of(instance)
    if declared and "replies" not in declared:
        return None
    return None if given(instance, args, kwargs, "messages") is None else MODEL


def model_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, given(instance, args, kwargs, "generation_kwargs"))
    if callback_of(instance, args, kwargs) is not None:
        attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


def _tools(instance: Any, args: Args, kwargs: Kwargs) -> list[Any]:
    """The tools that the model may ask for: those of the call, or else the generator's own."""
    tools: Any = given(instance, args, kwargs, "tools") or getattr(instance, "tools", None)
    found: list[Any] = []
    for one in tools.tools if hasattr(tools, "tools") else listed(tools):
        found.extend(one.tools if hasattr(one, "tools") else [one])
    return [one for one in found if hasattr(one, "tool_spec")]


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    asked = given(instance, args, kwargs, "messages")
    messages, tools = listed(asked), _tools(instance, args, kwargs)
    return Request(
        messages=read_all(messages),
        system=system_of(messages),
        tools=[one.name for one in tools],
        tool_definitions=[{"type": "function", **one.tool_spec} for one in tools],
        inputs=asked,
        model=model_of(instance),
    )


def model_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return last_text(listed(given(instance, args, kwargs, "messages")), read)


def model_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    messages = natives(given(instance, args, kwargs, "messages") if change.inputs is None else change.inputs)
    if change.messages is not None:
        messages = rewritten(messages, one_prompt(change.messages))
    if change.system is not None:
        messages = instructed(messages, change.system)
    return having(instance, args, kwargs, "messages", messages)


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Mapping[str, Any]:
    return result_of(value)


def model_amend(before: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Mapping[str, Any]:
    return amended(before, value)


MODEL = Adapter(
    kind="llm.call",
    layer=HAYSTACK_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=model_response, request=model_request, message=read, output=model_output, system_in_messages=True
    ),
    editing=Editing(
        rewrite=model_rewrite,
        takes=frozenset(("inputs", "messages", "system")),
        answer=model_answer,
        amend=model_amend,
        announce=announced,
        prepare=hold,
    ),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((HAYSTACK_MODEL,)),  # ``run_async`` may be made of ``run``
    ),
)
