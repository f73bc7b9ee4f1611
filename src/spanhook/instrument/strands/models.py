"""Models: ``stream`` and ``structured_output`` of every ``Model``, whatever it sends its requests through.

The library speaks Converse, the API of Bedrock, to models of all providers: its messages, tools and events are those.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from opentelemetry.trace import SpanKind
from pydantic import BaseModel

from spanhook import semconv
from spanhook.instrument.formats.bedrock import Converse
from spanhook.instrument.layers import STRANDS_MODEL
from spanhook.instrument.strands.arguments import MODEL as CALL
from spanhook.instrument.strands.arguments import MODEL_OUTPUT as ASKED
from spanhook.instrument.strands.chunks import ModelChunks, OutputChunks
from spanhook.instrument.strands.describing import describe, model_of
from spanhook.instrument.wire import Payload, messages_in, text_in
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
)

CONVERSE = Converse()
_TAKES = frozenset(("messages", "system", "inputs"))


def model_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes = describe(instance)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


# ------------------------------------------------------------------------------------------------- requests


def _body(instance: Any, args: Args, kwargs: Kwargs) -> Payload:
    """A request as Converse has it."""
    system = kwargs.get("system_prompt_content") or _blocks(CALL.given(args, kwargs, "system_prompt"))
    tools = [{"toolSpec": spec} for spec in CALL.given(args, kwargs, "tool_specs") or ()]
    return {
        "messages": CALL.given(args, kwargs, "messages") or [],
        "system": system,
        "toolConfig": {"tools": tools},
        "model": model_of(instance),
    }


def _blocks(system: Any) -> list[Any]:
    return [{"text": system}] if isinstance(system, str) and system else []


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return CONVERSE.request(_body(instance, args, kwargs))


def model_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return CONVERSE.carries({"messages": CALL.given(args, kwargs, "messages") or []})


def model_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = _body(instance, args, kwargs)
    CONVERSE.rewrite(body, change)
    changes: dict[str, Any] = {"messages": body["messages"]}
    if change.system is not None:
        changes["system_prompt"] = change.system
        if kwargs.get("system_prompt_content") is not None:
            changes["system_prompt_content"] = body["system"]
    return CALL.having(args, kwargs, **changes)


# ------------------------------------------------------------------------------------------------- answers


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Payload:
    return CONVERSE.payload({}, value)


def model_events(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[Any]:
    payload = CONVERSE.payload({}, value)
    return (data for _, data in CONVERSE.events({}, payload))


def model_output(result: Any) -> list[Message]:
    return CONVERSE.output(result)


MODEL = Adapter(
    kind="llm.call",
    layer=STRANDS_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(request=model_request, message=CONVERSE.message, output=model_output),
    editing=Editing(rewrite=model_rewrite, takes=_TAKES, answer=model_answer),
    streaming=Streaming(
        chunks=ModelChunks, answer_chunks=model_events, texts=CONVERSE.texts(lambda told, _chunk: told)
    ),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((STRANDS_MODEL,)),  # structured output may be made of a stream
    ),
)


# ------------------------------------------------------------------------------------------------- structured output


def output_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes = describe(instance)
    attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes


def _asked(instance: Any, args: Args, kwargs: Kwargs) -> Payload:
    return {
        "messages": ASKED.given(args, kwargs, "prompt") or [],
        "system": _blocks(ASKED.given(args, kwargs, "system_prompt")),
        "model": model_of(instance),
    }


def output_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return CONVERSE.request(_asked(instance, args, kwargs))


def output_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return CONVERSE.carries(_asked(instance, args, kwargs))


def output_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = _asked(instance, args, kwargs)
    CONVERSE.rewrite(body, change)
    changes: dict[str, Any] = {"prompt": body["messages"]}
    if change.system is not None:
        changes["system_prompt"] = change.system
    return ASKED.having(args, kwargs, **changes)


def structured(asked: Any, value: Any) -> BaseModel:
    """An answer as the class of Pydantic's that was asked for."""
    if isinstance(value, BaseModel):
        return value
    if isinstance(value, dict) and "role" not in value:
        return asked.model_validate(value)
    messages = messages_in(
        value, "an answer is the model class that was asked for, its fields or its JSON", key="parts"
    )
    return asked.model_validate_json(text_in([part for message in messages for part in message["parts"]]))


def output_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> BaseModel:
    return structured(ASKED.given(args, kwargs, "output_model"), value)


def output_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return ({"output": output_answer(instance, args, kwargs, value)},)


def structured_output(result: Any) -> list[Message]:
    text = result.model_dump_json() if isinstance(result, BaseModel) else ""
    return [{"role": "assistant", "parts": [{"type": "text", "content": text}]}] if text else []


OUTPUT = replace(
    MODEL,
    start=output_start,
    reading=replace(MODEL.reading, request=output_request, output=structured_output),
    editing=replace(MODEL.editing, rewrite=output_rewrite, answer=output_answer),
    streaming=Streaming(chunks=OutputChunks, answer_chunks=output_events),
    nesting=replace(MODEL.nesting, carries=output_carries),
)
