"""Models: ``get_response`` and ``stream_response`` of every ``Model``, whatever it sends its requests through."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.formats.openai import (
    RESPONSE_TEXTS,
    item_message,
    item_messages,
    last_text,
    output_message,
    rewrite_items,
)
from spanhook.instrument.layers import AGENTS_MODEL
from spanhook.instrument.openai_agents.answers import model_response, response_events
from spanhook.instrument.openai_agents.chunks import ModelChunks
from spanhook.instrument.openai_agents.describing import describe, model_of
from spanhook.instrument.openai_agents.reading import response_told
from spanhook.instrument.openai_agents.signatures import MODEL as CALL
from spanhook.instrument.wire import one_prompt
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
    exact_text,
)


def model_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, args, kwargs)


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, args, kwargs)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


def model_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    tools = [*(CALL.given(args, kwargs, "tools") or ()), *(CALL.given(args, kwargs, "handoffs") or ())]
    return Request(
        messages=item_messages(CALL.given(args, kwargs, "input")),
        system=CALL.given(args, kwargs, "system_instructions") or "",
        tools=[_name(tool) for tool in tools],
        tool_definitions=[_definition(tool) for tool in tools],
        inputs=CALL.given(args, kwargs, "input"),
        model=model_of(instance, args, kwargs),
    )


def _definition(tool: Any) -> dict[str, Any]:
    """A tool or hand-off offered to the model, in OpenAI's form; only the name of one that OpenAI runs."""
    schema = getattr(tool, "params_json_schema", None) or getattr(tool, "input_json_schema", None)
    if schema is None:
        return {"type": _name(tool)}
    about = getattr(tool, "description", None) or getattr(tool, "tool_description", None)
    return {"type": "function", "name": _name(tool), "description": about, "parameters": schema}


def _name(tool: Any) -> str:
    return exact_text(getattr(tool, "name", None) or getattr(tool, "tool_name", ""))


def model_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [last_text(CALL.given(args, kwargs, "input"))]


def model_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    changes: dict[str, Any] = {}
    if change.inputs is not None:
        changes["input"] = change.inputs
    if change.messages is not None:
        changes["input"] = rewrite_items(CALL.given(args, kwargs, "input"), one_prompt(change.messages))
    if change.system is not None:
        changes["system_instructions"] = change.system
    if change.model is not None:
        changes["model_settings"] = _with_model(instance, CALL.given(args, kwargs, "model_settings"), change.model)
    return CALL.having(args, kwargs, **changes)


def _with_model(instance: Any, settings: Any, model: str) -> Any:
    """The settings with another model in the body of the request.

    Raises:
        ValueError: The model object does not pass them on.
    """
    if not any(one.__name__ in _OPENAI_MODELS for one in type(instance).__mro__):
        raise ValueError(
            f"a {type(instance).__name__} always calls its own model {getattr(instance, 'model', '')!r}; "
            "model= would have no effect"
        )
    extra = settings.extra_body if isinstance(settings.extra_body, dict) else {}
    return replace(settings, extra_body={**extra, "model": model})


_OPENAI_MODELS = ("OpenAIResponsesModel", "OpenAIChatCompletionsModel")
"""Models that merge ``extra_body`` into what they send."""


def model_output(result: Any) -> list[Message]:
    return [output_message(result.output)]


def model_mark(result: Any) -> Any:
    """The id of the response, if the provider gave one."""
    return result.response_id or None


def stream_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    return model_response(model_of(instance, args, kwargs), value)


def stream_events(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return response_events(model_of(instance, args, kwargs), value)


MODEL = Adapter(
    kind="llm.call",
    layer=AGENTS_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=response_told, mark=model_mark, request=model_request, message=item_message, output=model_output
    ),
    editing=Editing(
        rewrite=model_rewrite, takes=frozenset(("messages", "system", "inputs", "model")), answer=stream_answer
    ),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((AGENTS_MODEL,)),  # one method of a model may be made of the other
    ),
)
STREAM = replace(
    MODEL,
    start=stream_start,
    streaming=Streaming(chunks=ModelChunks, answer_chunks=stream_events, texts=RESPONSE_TEXTS),
)
