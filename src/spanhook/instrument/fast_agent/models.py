"""Models: ``generate`` and ``structured`` of every ``FastAgentLLM``, whatever it sends its requests through."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from opentelemetry.trace import SpanKind
from pydantic import BaseModel

from spanhook import semconv
from spanhook.instrument.fast_agent.answers import amended, message_of, structured_of
from spanhook.instrument.fast_agent.arguments import GENERATE as CALL
from spanhook.instrument.fast_agent.arguments import STRUCTURED as CALL_STRUCTURED
from spanhook.instrument.fast_agent.conversations import messages_carry, messages_rewrite
from spanhook.instrument.fast_agent.describing import describe, instruction_of, model_of
from spanhook.instrument.fast_agent.messages import field, listed, read, read_all
from spanhook.instrument.fast_agent.responses import response_told, structured_told
from spanhook.instrument.signatures import Signature
from spanhook.instrument.wire import finished
from spanhook.model import Adapter, Args, Attributes, Editing, Kwargs, Message, Nesting, Reading, Request

LAYER = "fast_agent.model"
ERROR = "model_error"
_SAVING = "***SAVE_HISTORY"
"""What a message begins with that asks for no answer, but for a file."""


def chosen(_instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for one that only writes the conversation to a file."""
    messages = listed(CALL.given(args, kwargs, "messages"))
    return None if messages and messages[-1].first_text().startswith(_SAVING) else GENERATE


def generate_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, CALL.given(args, kwargs, "request_params"))


def structured_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, CALL_STRUCTURED.given(args, kwargs, "request_params"))
    attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
    return attributes


# ------------------------------------------------------------------------------------------------- requests


def generate_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    tools = CALL.given(args, kwargs, "tools") or ()
    return _request(instance, args, kwargs, CALL, tools)


def structured_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return _request(instance, args, kwargs, CALL_STRUCTURED)


def _request(instance: Any, args: Args, kwargs: Kwargs, call: Signature, tools: Iterable[Any] = ()) -> Request:
    given = call.given(args, kwargs, "messages")
    parameters = call.given(args, kwargs, "request_params")
    return Request(
        messages=read_all(listed(given)),
        system=instruction_of(instance, parameters),
        tools=[tool.name for tool in tools],
        inputs=given,
        model=model_of(instance, parameters),
        tool_definitions=[_definition(tool) for tool in tools],
    )


def _definition(tool: Any) -> dict[str, Any]:
    schema = field(tool, "input_schema", "inputSchema")
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": schema}


# ------------------------------------------------------------------------------------------------- results


def model_fault(result: Any) -> str:
    """Some providers' models return what went wrong, once they have given up."""
    return ERROR if getattr(result.stop_reason, "value", None) == "error" else ""


def structured_fault(result: Any) -> str:
    return model_fault(result[1])


def generate_output(result: Any) -> list[Message]:
    return [finished(read(result), result.stop_reason)]


def structured_output(result: Any) -> list[Message]:
    return generate_output(result[1])


def generate_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return message_of(value)


def generate_amend(before: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return amended(before, value)


def structured_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    model: type[BaseModel] = CALL_STRUCTURED.given(args, kwargs, "model")
    return structured_of(instance, model, value)


GENERATE = Adapter(
    kind="llm.call",
    layer=LAYER,
    span_kind=SpanKind.CLIENT,
    start=generate_start,
    reading=Reading(
        response=response_told, request=generate_request, message=read, output=generate_output, fault=model_fault
    ),
    editing=Editing(
        rewrite=messages_rewrite, takes=frozenset(("messages", "inputs")), answer=generate_answer, amend=generate_amend
    ),
    nesting=Nesting(
        role="framework",
        carries=messages_carry,
        transport_of=frozenset((LAYER,)),  # one method of a model may be made of the other
    ),
)
STRUCTURED = replace(
    GENERATE,
    start=structured_start,
    reading=replace(
        GENERATE.reading,
        response=structured_told,
        request=structured_request,
        output=structured_output,
        fault=structured_fault,
    ),
    editing=replace(GENERATE.editing, answer=structured_answer, amend=None),
)
