"""Models: ``request`` and ``request_stream`` of every ``Model``, whatever it sends its requests through.

A model that passes requests on to others, such as a fallback or a wrapper, is no operation: each call that it makes is
one, and gated.
"""

from dataclasses import fields, replace
from typing import Any

from opentelemetry.trace import SpanKind
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from spanhook import semconv
from spanhook.instrument.layers import PYDANTIC_AI_MODEL
from spanhook.instrument.pydantic_ai.answers import AnsweredStream, amended, model_response
from spanhook.instrument.pydantic_ai.arguments import REQUEST
from spanhook.instrument.pydantic_ai.carried import last_text
from spanhook.instrument.pydantic_ai.describing import describe, model_of
from spanhook.instrument.pydantic_ai.messages import read, read_all, rewritten
from spanhook.instrument.pydantic_ai.responses import response_mark, response_output, response_told
from spanhook.instrument.pydantic_ai.streams import body_of, stream_of
from spanhook.instrument.pydantic_ai.texts import EVENT_TEXTS
from spanhook.instrument.wire import one_prompt
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Chunks,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    Streaming,
)

_PASSING_ON = (WrapperModel, FallbackModel)


def chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a request; ``None`` for a model that only passes it on."""
    return None if isinstance(instance, _PASSING_ON) else MODEL


def chosen_stream(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return None if isinstance(instance, _PASSING_ON) else STREAM


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, args, kwargs)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


# ------------------------------------------------------------------------------------------------- requests


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    messages = REQUEST.given(args, kwargs, "messages") or ()
    parameters = REQUEST.given(args, kwargs, "model_request_parameters")
    tools = _tools(parameters)
    return Request(
        messages=read_all(messages),
        system=_instructions(messages, parameters),
        tools=[tool.name for tool in tools],
        tool_definitions=[_definition(tool) for tool in tools],
        inputs=messages,
        model=model_of(instance),
    )


def _tools(parameters: Any) -> list[Any]:
    return [*(getattr(parameters, "function_tools", None) or ()), *(getattr(parameters, "output_tools", None) or ())]


def _definition(tool: Any) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
    return {"type": "function", **about}


def _instructions(messages: Any, parameters: Any) -> str:
    """The instructions that the request is sent with."""
    parts = getattr(parameters, "instruction_parts", None)
    if parts is not None:
        return "\n\n".join(part.content for part in parts)
    given = (one.instructions for one in reversed(messages) if isinstance(one, ModelRequest) and one.instructions)
    return next(given, "")


def model_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return last_text(REQUEST.given(args, kwargs, "messages") or ())


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    changes: dict[str, Any] = {}
    messages = REQUEST.given(args, kwargs, "messages") or []
    if change.inputs is not None:
        messages = changes["messages"] = list(change.inputs)
    if change.messages is not None:
        messages = changes["messages"] = rewritten(messages, one_prompt(change.messages))
    if change.system is not None:
        changes["messages"] = _instructed(messages, change.system)
        parameters = REQUEST.given(args, kwargs, "model_request_parameters")
        if any(one.name == "instruction_parts" for one in fields(parameters)):
            changes["model_request_parameters"] = _with_instructions(parameters, change.system)
    return REQUEST.having(args, kwargs, **changes)


def _instructed(messages: list[Any], system: str) -> list[Any]:
    """The messages with these instructions in place of others."""
    places = [index for index, one in enumerate(messages) if isinstance(one, ModelRequest)]
    if not places:
        raise ValueError("a request without messages cannot be given instructions")
    result = list(messages)
    result[places[-1]] = replace(result[places[-1]], instructions=system)
    return result


def _with_instructions(parameters: Any, system: str) -> Any:
    from pydantic_ai.messages import InstructionPart  # not in every version

    return replace(parameters, instruction_parts=[InstructionPart(content=system)])


# ------------------------------------------------------------------------------------------------- answers


def model_answer(instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return model_response(instance, value)


def model_amend(before: Any, instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return amended(before, instance, value)


def stream_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """The stream of an answer; what replaces a stream's result is a response."""
    response = model_response(instance, value)
    parameters = REQUEST.given(args, kwargs, "model_request_parameters")
    return AnsweredStream(model_request_parameters=parameters, answer=response)


def chunks_of(_instance: Any, _args: Args, _kwargs: Kwargs) -> Chunks:
    raise TypeError("a model's stream has a body")


MODEL = Adapter(
    kind="llm.call",
    layer=PYDANTIC_AI_MODEL,
    span_kind=SpanKind.CLIENT,
    start=describe,
    reading=Reading(
        response=response_told, mark=response_mark, request=model_request, message=read, output=response_output
    ),
    editing=Editing(
        rewrite=model_rewrite, takes=frozenset(("messages", "system", "inputs")), answer=model_answer, amend=model_amend
    ),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((PYDANTIC_AI_MODEL,)),  # one method of a model may be made of the other
    ),
)
STREAM = replace(
    MODEL,
    start=stream_start,
    editing=replace(MODEL.editing, answer=stream_answer, amend=None),
    streaming=Streaming(stream_of=stream_of, chunks=chunks_of, body=body_of, texts=EVENT_TEXTS),
)
