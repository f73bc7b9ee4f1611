"""Models: ``generate`` and ``generate_stream`` of every ``Model``, whatever it sends its requests through."""

from dataclasses import replace
from typing import Any

from opentelemetry.trace import SpanKind
from smolagents.models import ChatMessage, get_tool_json_schema
from smolagents.monitoring import TokenUsage

from spanhook import semconv
from spanhook.instrument.formats.openai import Chat, system_of
from spanhook.instrument.layers import SMOLAGENTS_MODEL
from spanhook.instrument.smolagents.arguments import MODEL as CALL
from spanhook.instrument.smolagents.chunks import TEXTS, ModelChunks, deltas_of, usage_in
from spanhook.instrument.smolagents.describing import describe, model_of
from spanhook.instrument.smolagents.messages import last_text, native_of, read, wire_of
from spanhook.instrument.wire import Payload
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
    Streaming,
    Usage,
)

_CHAT = Chat()


def model_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, kwargs)
    stops = CALL.given(args, kwargs, "stop_sequences")
    if isinstance(stops, list) and stops and all(isinstance(one, str) for one in stops):
        attributes[semconv.GEN_AI_REQUEST_STOP_SEQUENCES] = tuple(stops)
    if CALL.given(args, kwargs, "response_format") is not None:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**model_start(instance, args, kwargs), semconv.GEN_AI_REQUEST_STREAM: True}


# ------------------------------------------------------------------------------------------------- requests


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    tools = CALL.given(args, kwargs, "tools_to_call_from") or ()
    messages = [read(one) for one in CALL.given(args, kwargs, "messages") or ()]
    return Request(
        messages=messages,
        system=system_of(messages),
        tools=[one.name for one in tools],
        tool_definitions=[get_tool_json_schema(one) for one in tools],
        inputs=CALL.given(args, kwargs, "messages"),
        model=model_of(instance),
    )


def model_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    conversions = getattr(instance, "custom_role_conversions", None)
    return [last_text(CALL.given(args, kwargs, "messages") or (), conversions or {})]


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    natives = list(CALL.given(args, kwargs, "messages") or () if change.inputs is None else change.inputs)
    body: Payload = {"messages": [wire_of(one) for one in natives]}
    kept = {id(wire): native for wire, native in zip(body["messages"], natives, strict=True)}
    _CHAT.rewrite(body, replace(change, inputs=None))
    sent = [kept[id(wire)] if id(wire) in kept else native_of(wire) for wire in body["messages"]]
    return CALL.having(args, kwargs, messages=sent)


# ------------------------------------------------------------------------------------------------- answers


def model_response(result: Any) -> tuple[Attributes, Usage | None]:
    """Usage; what else an answer says about itself is reported by the client that got it."""
    return {}, usage_in(result)


def model_output(result: Any) -> list[Message]:
    return [read(result)] if isinstance(result, ChatMessage) else []


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> ChatMessage:
    """A message for what a hook answers: one of the library's, a chat completion, text, or messages."""
    if isinstance(value, ChatMessage):
        return value
    told = _CHAT.payload({}, value)["choices"][0]["message"]
    made = native_of({**told, "content": None})
    made.content, made.token_usage = told.get("content"), TokenUsage(0, 0)
    return made


def model_deltas(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> list[Any]:
    return deltas_of(model_answer(instance, args, kwargs, value))


MODEL = Adapter(
    kind="llm.call",
    layer=SMOLAGENTS_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=model_response, request=model_request, message=read, output=model_output, system_in_messages=True
    ),
    editing=Editing(rewrite=model_rewrite, takes=frozenset(("messages", "system", "inputs")), answer=model_answer),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((SMOLAGENTS_MODEL,)),  # either method may be made of the other
    ),
)
STREAM = replace(
    MODEL,
    start=stream_start,
    streaming=Streaming(chunks=ModelChunks, answer_chunks=model_deltas, texts=TEXTS),
)
