"""Models: what chats and completes, streaming or not, of every ``LLM``, whatever it sends its requests through.

Each of the methods may be made of another one of the same model: all of them together are one call.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any, Self

from llama_index.core.base.llms.types import ChatResponse, CompletionResponse
from llama_index.core.llms.structured_llm import StructuredLLM
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import LLAMA_INDEX_MODEL
from spanhook.instrument.llama_index.arguments import CHAT, COMPLETE
from spanhook.instrument.llama_index.chunks import Answered, AsyncAnswered, ModelChunks
from spanhook.instrument.llama_index.describing import describe, model_of
from spanhook.instrument.llama_index.messages import (
    carried_by,
    instructed,
    read,
    read_all,
    rewritten,
    system_of,
    text_of_parts,
    written,
)
from spanhook.instrument.llama_index.responses import chat_answer, completion_answer, model_output, model_response
from spanhook.instrument.wire import fields_of, one_prompt
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    Streaming,
)


def _chosen(adapter: Adapter, instance: Any) -> Adapter | None:
    """The adapter, unless a call is no model's: the library's own way to structured output only asks another."""
    return None if type(instance) is StructuredLLM else adapter


def chat_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(MODEL, instance)


def stream_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(STREAM, instance)


def async_stream_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(ASYNC_STREAM, instance)


def completion_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(COMPLETION, instance)


def completion_stream_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(COMPLETION_STREAM, instance)


def async_completion_stream_chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    return _chosen(ASYNC_COMPLETION_STREAM, instance)


def model_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    return describe(instance, kwargs)


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    return {**model_start(instance, args, kwargs), semconv.GEN_AI_REQUEST_STREAM: True}


def stream_of(result: Any) -> str:
    """A stream is a generator, or whatever an integration returns in its place."""
    if isinstance(result, AsyncIterator):
        return "async"
    return "sync" if isinstance(result, Iterator) else ""


# ------------------------------------------------------------------------------------------------- chat


def _messages(args: Args, kwargs: Kwargs) -> list[Any]:
    return list(CHAT.given(args, kwargs, "messages") or ())


def _tools(kwargs: Kwargs) -> list[Any]:
    """The tools that a model may ask for, in the form of its provider."""
    given = kwargs.get("tools")
    return list(given) if isinstance(given, list | tuple) else []


def _tool_name(tool: Any) -> str:
    told = fields_of(tool)
    found = fields_of(told.get("function")).get("name") or told.get("name")
    return found if isinstance(found, str) else ""


def chat_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    messages, tools = _messages(args, kwargs), _tools(kwargs)
    return Request(
        messages=read_all(messages),
        system=system_of(messages),
        tools=[name for name in map(_tool_name, tools) if name],
        tool_definitions=tools,
        inputs=CHAT.given(args, kwargs, "messages"),
        model=model_of(instance),
    )


class OrPrompt(str):
    """The text of the last message. It also equals the prompt that a model without messages makes of all of them."""

    __slots__ = ("prompt",)
    prompt: str

    @classmethod
    def of(cls, text: str | None, prompt: str) -> Self:
        made = cls(text or "")
        made.prompt = prompt
        return made

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True or self.prompt == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def chat_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    messages = _messages(args, kwargs)
    carried = carried_by(messages)
    prompt = _prompt(instance, messages)
    return carried if prompt is None else [OrPrompt.of(carried[0], prompt)]


def _prompt(instance: Any, messages: list[Any]) -> str | None:
    """The prompt of a model that takes no messages."""
    try:
        return None if instance.metadata.is_chat_model else instance.messages_to_prompt(messages)
    except Exception:
        return None  # the application's code; the call itself tells what is wrong with it


def chat_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    messages = _messages(args, kwargs) if change.inputs is None else [written(one) for one in change.inputs]
    if change.messages is not None:
        messages = rewritten(messages, one_prompt(change.messages))
    if change.system is not None:
        messages = instructed(messages, change.system)
    return CHAT.having(args, kwargs, messages=messages)


def chat_answered(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> ChatResponse:
    return chat_answer(value)


def chat_amended(before: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> ChatResponse:
    return chat_answer(value, before)


def chat_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> tuple[ChatResponse]:
    made = chat_answer(value)
    return (made.model_copy(update={"delta": made.message.content or ""}),)


def chat_stream(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Answered:
    return Answered(chat_chunks(instance, args, kwargs, value))


def async_chat_stream(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> AsyncAnswered:
    return AsyncAnswered(chat_chunks(instance, args, kwargs, value))


MODEL = Adapter(
    kind="llm.call",
    layer=LLAMA_INDEX_MODEL,
    span_kind=SpanKind.CLIENT,
    start=model_start,
    reading=Reading(
        response=model_response, request=chat_request, message=read, output=model_output, system_in_messages=True
    ),
    editing=Editing(
        rewrite=chat_rewrite,
        takes=frozenset(("inputs", "messages", "system")),
        answer=chat_answered,
        amend=chat_amended,
    ),
    nesting=Nesting(role="framework", carries=chat_carries, transport_of=frozenset((LLAMA_INDEX_MODEL,))),
)
STREAM = replace(
    MODEL,
    start=stream_start,
    editing=replace(MODEL.editing, answer=chat_stream, amend=None),
    streaming=Streaming(stream_of=stream_of, chunks=ModelChunks, answer_chunks=chat_chunks),
)
ASYNC_STREAM = replace(STREAM, editing=replace(STREAM.editing, answer=async_chat_stream))


# ------------------------------------------------------------------------------------------------- completion


def _asked(args: Args, kwargs: Kwargs) -> str:
    prompt = COMPLETE.given(args, kwargs, "prompt")
    return prompt if isinstance(prompt, str) else ""


def complete_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    prompt = COMPLETE.given(args, kwargs, "prompt")
    return Request(messages=[read(_asked(args, kwargs))], inputs=prompt, model=model_of(instance))


def complete_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [_asked(args, kwargs) or None]


def complete_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    prompt = COMPLETE.given(args, kwargs, "prompt") if change.inputs is None else change.inputs
    if change.messages is not None:
        messages = one_prompt(change.messages)
        if len(messages) != 1:
            raise ValueError(f"a prompt is one message; messages= has {len(messages)}")
        prompt = text_of_parts(read(messages[0])["parts"])
    return COMPLETE.having(args, kwargs, prompt=prompt)


def complete_answered(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> CompletionResponse:
    return completion_answer(value)


def complete_amended(before: Any, _instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> CompletionResponse:
    return completion_answer(value, before)


def complete_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> tuple[CompletionResponse]:
    made = completion_answer(value)
    return (made.model_copy(update={"delta": made.text}),)


def complete_stream(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Answered:
    return Answered(complete_chunks(instance, args, kwargs, value))


def async_complete_stream(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> AsyncAnswered:
    return AsyncAnswered(complete_chunks(instance, args, kwargs, value))


COMPLETION = replace(
    MODEL,
    reading=replace(MODEL.reading, request=complete_request),
    editing=replace(
        MODEL.editing,
        rewrite=complete_rewrite,
        takes=frozenset(("inputs", "messages")),
        answer=complete_answered,
        amend=complete_amended,
    ),
    nesting=replace(MODEL.nesting, carries=complete_carries),
)
COMPLETION_STREAM = replace(
    COMPLETION,
    start=stream_start,
    editing=replace(COMPLETION.editing, answer=complete_stream, amend=None),
    streaming=Streaming(stream_of=stream_of, chunks=ModelChunks, answer_chunks=complete_chunks),
)
ASYNC_COMPLETION_STREAM = replace(
    COMPLETION_STREAM, editing=replace(COMPLETION_STREAM.editing, answer=async_complete_stream)
)
