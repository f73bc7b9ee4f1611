"""Models: ``_inner_get_response`` of every ``BaseChatClient``, whatever it sends its requests through.

A client's call of a model is a coroutine, or a stream in an object that the library hands out at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.agent_framework.chunks import ChatUpdates
from spanhook.instrument.agent_framework.describing import describe, instructions_in, model_of, options_of
from spanhook.instrument.agent_framework.messages import natives, read, read_all, rewritten
from spanhook.instrument.agent_framework.responses import (
    chat_response,
    chat_response_of,
    chat_updates,
    noted,
    output_of,
    usage_in,
)
from spanhook.instrument.agent_framework.streams import handing
from spanhook.instrument.agent_framework.texts import TEXTS
from spanhook.instrument.layers import AGENT_FRAMEWORK_MODEL
from spanhook.instrument.wire import last_text, one_prompt
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
    exact_text,
)


def chosen(_instance: Any, _args: Args, kwargs: Kwargs) -> Adapter:
    return STREAM if kwargs.get("stream") else MODEL


def model_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, kwargs)


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**model_start(instance, args, kwargs), semconv.GEN_AI_REQUEST_STREAM: True}


# ------------------------------------------------------------------------------------------------- requests


def _tools(kwargs: Kwargs) -> list[Mapping[str, Any]]:
    """The tools that the model may ask for, as the library describes them."""
    given = options_of(kwargs).get("tools")
    listed: Sequence[Any] = given if isinstance(given, list | tuple) else () if given is None else (given,)
    return [found for one in listed if (found := _described(one))]


def _described(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return tool
    return tool.to_json_schema_spec() if hasattr(tool, "to_json_schema_spec") else {}


def _name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return exact_text(named.get("name") or tool.get("type"))


def model_request(instance: Any, _args: Args, kwargs: Kwargs) -> Request:
    tools = _tools(kwargs)
    return Request(
        messages=read_all(kwargs.get("messages")),
        system=instructions_in(options_of(kwargs)),
        tools=[_name(one) for one in tools],
        tool_definitions=tools,
        inputs=kwargs.get("messages"),
        model=model_of(instance, kwargs),
    )


def model_carries(_instance: Any, _args: Args, kwargs: Kwargs) -> Carried:
    return last_text(natives(kwargs.get("messages")), read)


def model_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    messages = natives(kwargs.get("messages") if change.inputs is None else change.inputs)
    if change.messages is not None:
        messages = rewritten(messages, one_prompt(change.messages))
    options = {"instructions": change.system, "model": change.model}
    told = {name: value for name, value in options.items() if value is not None}
    return args, {**kwargs, "messages": messages, "options": {**options_of(kwargs), **told}}


# ------------------------------------------------------------------------------------------------- answers


def model_response(result: Any) -> tuple[Attributes, Usage | None]:
    return noted(result), usage_in(result.usage_details)


def model_output(result: Any) -> list[Message]:
    return output_of(result)


def model_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Any:
    return chat_response(value)


def model_updates(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> list[Any]:
    return chat_updates(value)


def model_finalized(_instance: Any, _args: Args, kwargs: Kwargs, updates: Sequence[Any]) -> Any:
    return chat_response_of(updates, options_of(kwargs).get("response_format"))


MODEL = Adapter(
    kind="llm.call",
    layer=AGENT_FRAMEWORK_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(response=model_response, request=model_request, message=read, output=model_output),
    editing=Editing(
        rewrite=model_rewrite, takes=frozenset(("inputs", "messages", "model", "system")), answer=model_answer
    ),
    nesting=Nesting(
        role="framework",
        carries=model_carries,
        transport_of=frozenset((AGENT_FRAMEWORK_MODEL,)),  # a stream may be made of a response
    ),
)
STREAMING = Streaming(chunks=ChatUpdates, hands_out=handing(model_finalized), answer_chunks=model_updates, texts=TEXTS)
STREAM = replace(MODEL, start=stream_start, streaming=STREAMING)
