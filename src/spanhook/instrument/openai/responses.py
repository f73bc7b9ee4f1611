"""The Responses API: requests, responses, answers."""

from collections.abc import Iterator
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe, output_type
from spanhook.instrument.openai.items import (
    PARTS,
    from_message,
    last_text,
    output_part,
    rewrite,
    to_message,
    to_messages,
)
from spanhook.instrument.openai.messages import tool_name
from spanhook.instrument.openai.reading import RESPONSES_USAGE, note, usage_of
from spanhook.instrument.openai.response_events import response_events
from spanhook.instrument.openai.responses_chunks import ResponsesChunks
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.openai.texts import RESPONSE_TEXTS
from spanhook.instrument.stainless import (
    Api,
    Event,
    Fields,
    Payload,
    body_of,
    estimate,
    fields_of,
    finished,
    keep_what_is_parsed,
    list_of,
    messages_in,
    one_prompt,
    options_of,
    parsing_failed,
    text_of,
    with_body,
)
from spanhook.instrument.surroundings import seconds
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Kwargs, Message, Request, Usage

_TOOL_CALLS = ("function_call", "custom_tool_call")
_INCOMPLETE = {"max_output_tokens": "length"}
_STOPPED = {"failed": "error", "cancelled": "cancelled"}


def responses_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    body = body_of(args, kwargs)
    attributes = describe(instance, args, kwargs, body)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    attributes[semconv.OPENAI_API_TYPE] = "responses"
    text = body.get("text")
    asked = output_type(text.get("format")) if isinstance(text, dict) else ""
    if asked:
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    if isinstance(conversation, str):
        attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
    previous = body.get("previous_response_id")
    if isinstance(previous, str):
        attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = previous
    template = fields_of(body.get("prompt"))  # one that OpenAI keeps
    for name, key in (("id", semconv.GEN_AI_PROMPT_NAME), ("version", semconv.GEN_AI_PROMPT_VERSION)):
        if isinstance(template.get(name), str):
            attributes[key] = template[name]
    return attributes


def responses_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = body_of(args, kwargs)
    return Request(
        messages=to_messages(body.get("input")),
        system=str(body.get("instructions") or ""),
        tools=[tool_name(tool) for tool in body.get("tools") or ()],
        tool_definitions=body.get("tools") or (),
        inputs=body.get("input"),
        model=str(body.get("model") or ""),
    )


def responses_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [last_text(body_of(args, kwargs).get("input"))]


def responses_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = dict(body_of(args, kwargs))
    if change.inputs is not None:
        body["input"] = change.inputs
    if change.messages is not None:
        body["input"] = rewrite(body.get("input"), one_prompt(change.messages))
    if change.system is not None:
        body["instructions"] = change.system
    if change.model is not None:
        with_model(instance, args, kwargs, body, change.model)
    return with_body(args, kwargs, body)


def _finish_reason(told: Fields) -> str:
    """Why a response ended, in the terms of chat completions; empty while it runs in the background."""
    status = told.get("status")
    if status == "completed":
        called = any(fields_of(item).get("type") in _TOOL_CALLS for item in list_of(told.get("output")))
        return "tool_calls" if called else "stop"
    if status == "incomplete":
        reason = text_of(fields_of(told.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason, reason or "incomplete")
    return _STOPPED.get(str(status), "")


def responses_response(result: Any) -> tuple[Attributes, Usage | None]:
    told = fields_of(result_of(result))
    attributes: Attributes = {}
    note(attributes, told)
    reason = _finish_reason(told)
    if reason:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
    return attributes, usage_of(told.get("usage"), RESPONSES_USAGE)


def responses_output(result: Any) -> list[Message]:
    told = fields_of(result_of(result))
    return [finished(output_message(told.get("output")), _finish_reason(told))] if told else []


def output_message(output: Any) -> Message:
    """The output items of a response, which are one message."""
    parts: list[dict[str, Any]] = []
    for item in list_of(output):
        said = fields_of(item)
        if said.get("type") == "message":
            parts.extend(PARTS.read(said.get("content")))
        else:
            parts.append(output_part(item))
    return {"role": "assistant", "parts": parts}


# ----------------------------------------------------------------------------------------------- answers


def responses_payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    """A response on the wire, as ``response_payload`` makes it, given the arguments of the request."""
    body, compact = body_of(args, kwargs), "/compact" in options_of(args, kwargs).url
    return response_payload(value, str(body.get("model") or ""), compact=compact)


def response_payload(value: Any, model: str, *, compact: bool = False) -> Payload:
    """A response on the wire.

    Args:
        value: Text, a response, or messages in role/parts form.
        model: The model that answers.
        compact: Whether it is a compaction.

    Raises:
        TypeError: ``value`` is none of these.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict(mode="json", warnings=False)
    if isinstance(value, dict) and "output" in value and "call_id" not in value:
        made: Payload = {**value, "output": [_unparsed(item) for item in value["output"]]}
    else:
        messages = messages_in(value, "a response's answer is text, a Response or messages")
        items = [item for message in messages for item in from_message(message)]
        made = {"output": [_output_item(index, item) for index, item in enumerate(items)]}
    return {
        "id": "resp_spanhook",
        "object": "response.compaction" if compact else "response",
        "created_at": seconds(),
        "model": model,
        "status": "completed",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        **made,
    }


def _output_item(index: int, item: Payload) -> Payload:
    """An input item as the model would have written it."""
    if "role" not in item:
        return {"id": f"item_spanhook_{index}", "status": "completed", **item}
    content = item.get("content") or ""
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    content = [{"annotations": [], **part} if part.get("type") == "output_text" else part for part in content]
    return {"id": f"msg_spanhook_{index}", "type": "message", "status": "completed", **item, "content": content}


def _unparsed(item: Payload) -> Payload:
    """An item without what ``parse`` added to it; it will be parsed again."""
    made = {key: value for key, value in item.items() if key != "parsed_arguments"}
    if made.get("type") == "message":
        made["content"] = [{key: one for key, one in part.items() if key != "parsed"} for part in made["content"]]
    return made


def _events(_args: Args, _kwargs: Kwargs, payload: Payload) -> Iterator[Event]:
    return response_events(payload)


def _chunks(_instance: Any, args: Args, kwargs: Kwargs) -> ResponsesChunks:
    return ResponsesChunks(responses_response, lambda characters: estimate(body_of(args, kwargs), characters))


_API = Api(sdk=SDK, payload=responses_payload, events=_events, response=responses_response, chunks=_chunks)

RESPONSES = Adapter(
    kind="llm.call",
    layer=OPENAI,
    span_kind=SpanKind.CLIENT,
    start=responses_start,
    response=responses_response,
    request=responses_request,
    message=to_message,
    carries=responses_carries,
    output=responses_output,
    rewrite=responses_rewrite,
    takes=frozenset(("messages", "system", "inputs", "model")),
    prepare=keep_what_is_parsed,
    failure=parsing_failed(responses_response),
    answer=_API.answer,
    stream_of=stream_of,
    chunks=_chunks,
    answer_chunks=_API.answer_chunks,
    texts=RESPONSE_TEXTS,
    body=_API.body,
    opaque=True,
)
