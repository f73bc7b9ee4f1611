"""Decisions: a model answers questions about an input with classes and scores. Requests, responses, answers."""

import json
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe
from spanhook.instrument.openai.items import rewrite, to_message, to_messages
from spanhook.instrument.openai.reading import RESPONSES_USAGE, note, usage_of
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.stainless import Api, NoChunks, Payload, body_of, fields_of, no_events, one_prompt, with_body
from spanhook.model import Adapter, Args, Attributes, Change, Kwargs, Message, Request, Usage


def decisions_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, args, kwargs, body_of(args, kwargs))
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    attributes[semconv.OPENAI_API_TYPE] = "decisions"
    attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes


def decisions_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = body_of(args, kwargs)
    given = body.get("input")
    return Request(messages=to_messages(given), inputs=given, model=str(body.get("model") or ""))


def decisions_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = dict(body_of(args, kwargs))
    if change.inputs is not None:
        body["input"] = change.inputs
    if change.messages is not None:
        body["input"] = rewrite(body.get("input"), one_prompt(change.messages))
    if change.model is not None:
        with_model(instance, args, kwargs, body, change.model)
    return with_body(args, kwargs, body)


def decisions_response(result: Any) -> tuple[Attributes, Usage | None]:
    told = fields_of(result_of(result))
    attributes: Attributes = {}
    note(attributes, told)
    return attributes, usage_of(told.get("usage"), RESPONSES_USAGE)


def decisions_output(result: Any) -> list[Message]:
    """One message with a part for each question: the answer as JSON."""
    answers = fields_of(result_of(result)).get("answers")
    if not answers:
        return []
    parts = [{"type": "text", "content": json.dumps(_plain(answer))} for answer in answers]
    return [{"role": "assistant", "parts": parts}]


def _plain(answer: Any) -> Any:
    return answer.to_dict(mode="json", warnings=False) if hasattr(answer, "to_dict") else answer


def decisions_payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    """A decision on the wire, for a complete decision or its answers.

    Raises:
        TypeError: It is neither.
    """
    value = _plain(value)
    if isinstance(value, list) and all(isinstance(_plain(one), dict) for one in value):
        value = {"answers": [_plain(one) for one in value]}
    if not isinstance(value, dict) or "answers" not in value:
        raise TypeError(f"an answer to decisions is a Decision or a list of answers, not {type(value).__name__}")
    usage = {
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 0,
    }
    return {"model": str(body_of(args, kwargs).get("model") or ""), "usage": usage, **value}


_API = Api(sdk=SDK, payload=decisions_payload, events=no_events, response=decisions_response, chunks=NoChunks)

DECISIONS = Adapter(
    kind="llm.call",
    layer=OPENAI,
    span_kind=SpanKind.CLIENT,
    start=decisions_start,
    response=decisions_response,
    request=decisions_request,
    message=to_message,
    output=decisions_output,
    rewrite=decisions_rewrite,
    takes=frozenset(("messages", "inputs", "model")),
    answer=_API.answer,
    stream_of=stream_of,
    body=_API.body,
    opaque=True,
)
