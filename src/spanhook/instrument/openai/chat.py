"""Chat completions: requests, responses, streams, answers."""

from collections.abc import Iterator
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.asking import ask_for_usage
from spanhook.instrument.openai.chat_chunks import ChatChunks
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe, output_type
from spanhook.instrument.openai.messages import from_message, rewrite, system_of, to_message, tool_name, with_system
from spanhook.instrument.openai.reading import completion_response
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.openai.texts import CHOICE_TEXTS
from spanhook.instrument.stainless import (
    Api,
    Event,
    Payload,
    body_of,
    fields_of,
    finished,
    is_streamed,
    keep_what_is_parsed,
    list_of,
    messages_in,
    one_prompt,
    parsing_failed,
    with_body,
)
from spanhook.instrument.surroundings import seconds
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Kwargs, Message, Request, text_of


def chat_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    body = body_of(args, kwargs)
    attributes = describe(instance, args, kwargs, body)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    attributes[semconv.OPENAI_API_TYPE] = "chat_completions"
    asked = output_type(body.get("response_format"))
    if asked:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked
    return attributes


def chat_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = body_of(args, kwargs)
    messages = [to_message(message) for message in body.get("messages") or ()]
    return Request(
        messages=messages,
        system=system_of(messages),
        tools=[tool_name(tool) for tool in body.get("tools") or body.get("functions") or ()],
        tool_definitions=body.get("tools") or body.get("functions") or (),
        inputs=body.get("messages"),
        model=str(body.get("model") or ""),
    )


def chat_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    messages = body_of(args, kwargs).get("messages")
    return [text_of(fields_of(messages[-1]).get("content")) if messages else None]


def chat_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = dict(body_of(args, kwargs))
    if change.inputs is not None:
        body["messages"] = list(change.inputs)
    if change.messages is not None:
        body["messages"] = rewrite(body.get("messages") or (), one_prompt(change.messages))
    if change.system is not None:
        body["messages"] = with_system(body.get("messages") or (), change.system)
    if change.model is not None:
        with_model(instance, args, kwargs, body, change.model)
    return with_body(args, kwargs, body)


def chat_prepare(instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    return (ask_for_usage if is_streamed(kwargs) else keep_what_is_parsed)(instance, args, kwargs)


def chat_output(result: Any) -> list[Message]:
    messages: list[Message] = []
    for choice in list_of(fields_of(result_of(result)).get("choices")):
        told = fields_of(choice)
        messages.append(finished(to_message(told.get("message")), told.get("finish_reason")))
    return messages


# ----------------------------------------------------------------------------------------------- answers


def chat_payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    """A chat completion on the wire.

    Args:
        args, kwargs: The arguments of the request that it answers.
        value: Text, a completion, or messages in role/parts form: one, or one per choice.

    Raises:
        TypeError: It is none of these.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict(mode="json", warnings=False)
    if isinstance(value, dict) and "choices" in value:
        made: Payload = {**value, "choices": [_unparsed(choice) for choice in value["choices"]]}
    else:
        messages = messages_in(value, "a chat completion's answer is text, a ChatCompletion or messages", key="role")
        made = {"choices": [_choice(index, message) for index, message in enumerate(messages)]}
    known = {"id": "chatcmpl-spanhook", "object": "chat.completion", "created": seconds()}
    return {**known, "model": str(body_of(args, kwargs).get("model") or ""), **made}


def _choice(index: int, message: Message) -> Payload:
    wire = {"content": None, "refusal": None, **from_message(message)}
    reason = message.get("finish_reason") or ("tool_calls" if wire.get("tool_calls") else "stop")
    wire.pop("finish_reason", None)
    return {"index": index, "message": wire, "finish_reason": reason, "logprobs": None}


def _unparsed(choice: Payload) -> Payload:
    """A choice without what ``parse`` added to it; it will be parsed again."""
    message = {key: value for key, value in choice["message"].items() if key != "parsed"}
    for call in message.get("tool_calls") or ():
        if "function" in call:
            call["function"].pop("parsed_arguments", None)
    return {**choice, "message": message}


def chat_events(args: Args, kwargs: Kwargs, payload: Payload) -> Iterator[Event]:
    """A chat completion as the chunks of a stream."""
    usage = payload.get("usage")
    base = {key: value for key, value in payload.items() if key not in ("choices", "usage", "object")}
    base["object"] = "chat.completion.chunk"
    for choice in payload["choices"]:
        message = choice["message"]
        delta = {key: value for key, value in message.items() if key != "tool_calls"}
        calls = message.get("tool_calls")
        if calls:
            delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
        index = choice.get("index", 0)
        yield "", {**base, "choices": [{"index": index, "delta": delta, "finish_reason": None}]}
        yield "", {**base, "choices": [{"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}]}
    asked = body_of(args, kwargs).get("stream_options") or {}
    if usage and asked.get("include_usage"):
        yield "", {**base, "choices": [], "usage": usage}


_API = Api(
    sdk=SDK, payload=chat_payload, events=chat_events, response=completion_response, chunks=ChatChunks, last="[DONE]"
)

CHAT = Adapter(
    kind="llm.call",
    layer=OPENAI,
    span_kind=SpanKind.CLIENT,
    start=chat_start,
    response=completion_response,
    request=chat_request,
    message=to_message,
    carries=chat_carries,
    system_in_messages=True,
    output=chat_output,
    rewrite=chat_rewrite,
    takes=frozenset(("messages", "system", "inputs", "model")),
    prepare=chat_prepare,
    failure=parsing_failed(completion_response),
    answer=_API.answer,
    stream_of=stream_of,
    chunks=ChatChunks,
    answer_chunks=_API.answer_chunks,
    texts=CHOICE_TEXTS,
    body=_API.body,
    opaque=True,
)
