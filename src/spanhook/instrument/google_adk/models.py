"""Models: ``generate_content_async`` of every ``BaseLlm``, whatever it sends its requests through."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.google_adk.arguments import MODEL as CALL
from spanhook.instrument.google_adk.chunks import TEXTS, ModelChunks
from spanhook.instrument.google_adk.contents import FORMAT, output_of, read, rewritten, said
from spanhook.instrument.google_adk.describing import describe, family_of, is_claude, is_gemini, model_of
from spanhook.instrument.layers import ADK_MODEL
from spanhook.instrument.wire import fields_of, finished
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
    in_pieces,
)


def chosen(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter:
    return STREAM if CALL.given(args, kwargs, "stream") else MODEL


def _asked(args: Args, kwargs: Kwargs) -> Any:
    return CALL.given(args, kwargs, "llm_request")


def model_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, _asked(args, kwargs))


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**model_start(instance, args, kwargs), semconv.GEN_AI_REQUEST_STREAM: True}


# ------------------------------------------------------------------------------------------------- requests


def _instructions(config: Any) -> Any:
    """Instructions as a content."""
    given = getattr(config, "system_instruction", None)
    return {"parts": [{"text": given}]} if isinstance(given, str) else given


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    asked = _asked(args, kwargs)
    tools = getattr(asked.config, "tools", None) or ()
    body = {
        "contents": asked.contents,
        "systemInstruction": _instructions(asked.config),
        "tools": [{name: one for name, one in fields_of(tool).items() if one is not None} for tool in tools],
        "model": model_of(instance, asked),
    }
    return FORMAT.request(body)


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    asked = _asked(args, kwargs)
    changes: dict[str, Any] = {"contents": rewritten(asked.contents, change)}
    if change.system is not None:
        config = asked.config or types.GenerateContentConfig()
        changes["config"] = config.model_copy(update={"system_instruction": change.system})
    return CALL.having(args, kwargs, llm_request=asked.model_copy(update=changes))


# ------------------------------------------------------------------------------------------------- the transport


def model_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """The last text as the client inside gets it: the library's models add a content to those that do not end with one
    of the user's, and write results of tools each in a way of its own.
    """
    asked = _asked(args, kwargs)
    contents = list(asked.contents)
    if family_of(instance) and not is_claude(instance):
        twin = asked.model_copy(update={"contents": contents})
        instance._maybe_append_user_content(twin)
        contents = twin.contents
    if is_gemini(instance):
        return FORMAT.carries({"contents": contents})
    parts = (contents[-1].parts or ()) if contents else ()
    write = _for_claude if is_claude(instance) else _as_json
    texts = (write(one.function_response.response) if one.function_response else one.text for one in parts)
    return [in_pieces([one for one in texts if one])]


def _as_json(response: Any) -> str:
    if isinstance(response, str):
        return response
    try:
        return json.dumps(response, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(response)


def _for_claude(response: Any) -> str:
    """A tool's result as the library writes it for Claude."""
    told = fields_of(response)
    content, result = told.get("content"), told.get("result")
    if content and isinstance(content, str | list):
        return content if isinstance(content, str) else "\n".join(_line(one) for one in content)
    if set(told) == {"result"} and result is not None:
        return json.dumps(result) if isinstance(result, dict | list) else str(result)
    return json.dumps(response) if response else ""


def _line(item: Any) -> str:
    is_text = isinstance(item, dict) and item.get("type") == "text" and "text" in item
    return item["text"] if is_text else str(item)


# ------------------------------------------------------------------------------------------------- answers


def model_output(result: Any) -> list[Message]:
    if not isinstance(result, LlmResponse):
        return []
    reason = result.finish_reason
    return [finished(one, getattr(reason, "value", reason)) for one in output_of(result.content)]


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> LlmResponse:
    if isinstance(value, LlmResponse):
        return value
    return LlmResponse(content=said(value), finish_reason=types.FinishReason.STOP)


def model_responses(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (model_answer(instance, args, kwargs, value),)


STREAMING = Streaming(
    chunks=ModelChunks,
    answer_chunks=model_responses,
    ends="drained",  # the library calls tools before it reads on
)
MODEL = Adapter(
    kind="llm.call",
    layer=ADK_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(request=model_request, message=read, output=model_output),
    editing=Editing(rewrite=model_rewrite, takes=frozenset(("inputs", "messages", "system")), answer=model_answer),
    streaming=STREAMING,
    nesting=Nesting(role="framework", carries=model_carries),
)
STREAM = replace(MODEL, start=stream_start, streaming=replace(STREAMING, texts=TEXTS))
