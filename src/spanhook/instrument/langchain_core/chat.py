"""Chat models: ``generate`` and ``stream`` of ``BaseChatModel``, sync and async."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.langchain_core.announcing import CHAT_GENERATE, CHAT_STREAM
from spanhook.instrument.langchain_core.answers import as_ai_message, as_chunk
from spanhook.instrument.langchain_core.chat_chunks import ChatChunks
from spanhook.instrument.langchain_core.messages import read, rewrite, system_of, to_message, with_system
from spanhook.instrument.langchain_core.model import describe_alike, model_of, note_client, watch, with_model
from spanhook.instrument.langchain_core.results import result_mark, result_output, result_response
from spanhook.instrument.langchain_core.texts import MESSAGE_TEXTS
from spanhook.instrument.layers import LANGCHAIN_CHAT, LANGCHAIN_CHAT_INVOKE, LANGCHAIN_CHAT_STREAM
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
    exact_text,
    first,
    text_of,
    with_first,
)


def _alike(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe_alike(instance, kwargs)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    return attributes


def _stream_alike(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = _alike(instance, args, kwargs)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


def chat_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = _alike(instance, args, kwargs)
    note_client(attributes, instance)
    return attributes


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = _stream_alike(instance, args, kwargs)
    note_client(attributes, instance)
    return attributes


# ----------------------------------------------------------------------------------------------- requests

Prompts = Callable[[Any, Args, Kwargs], Sequence[Sequence[BaseMessage]]]


def generate_prompts(_instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return args[0] if args else kwargs["messages"]


def stream_prompts(instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return [instance._convert_input(first(args, kwargs, "input")).to_messages()]


def carries_prompts(prompts: Prompts) -> Callable[[Any, Args, Kwargs], Carried]:
    """What identifies calls that take prompts in this way."""

    def carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
        given = prompts(instance, args, kwargs)
        if len(given) == 1 and given[0] and type(content := given[0][-1].content) is str:
            return [content or None]
        return [text_of(prompt[-1].content) if prompt else None for prompt in given]

    return carries


def chat_request(prompts: Prompts) -> Callable[[Any, Args, Kwargs], Request]:
    """The request of calls that take prompts in this way."""

    def request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
        tools = _tools(kwargs)
        batch = [[to_message(message) for message in prompt] for prompt in prompts(instance, args, kwargs)]
        return Request(
            messages=[message for messages in batch for message in messages],
            system="\n".join(dict.fromkeys(filter(None, map(system_of, batch)))),
            tools=[tool_name(tool) for tool in tools],
            tool_definitions=tools,
            inputs=first(args, kwargs, "input" if prompts is stream_prompts else "messages"),
            model=model_of(instance, kwargs),
        )

    return request


def _tools(kwargs: Kwargs) -> Any:
    return kwargs.get("tools") or kwargs.get("functions") or ()


def tool_name(tool: Any) -> str:
    """The name of a tool as models see it."""
    if not isinstance(tool, dict):
        return exact_text(getattr(tool, "name", tool))
    return exact_text(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", ""))


def chat_rewrite(prompts: Prompts, name: str, *, many: bool) -> Callable[..., tuple[Args, Kwargs]]:
    """Rewrites their argument of this name; ``many`` if it is a list of prompts."""

    def change_call(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        changed: list[list[BaseMessage]] = [list(prompt) for prompt in prompts(instance, args, kwargs)]
        if change.messages is not None:
            given: Any = change.messages
            if len(changed) == 1 and not (given and isinstance(given[0], list | tuple)):
                given = [given]
            elif len(given) == sum(map(len, changed)) and not any(isinstance(one, list | tuple) for one in given):
                rest = iter(given)  # in one sequence, as in `op.request`
                given = [list(islice(rest, len(prompt))) for prompt in changed]
            if len(given) != len(changed):
                raise ValueError(f"the batch has {len(changed)} prompts; messages= needs a list of messages for each")
            changed = [rewrite(prompt, new) for prompt, new in zip(changed, given, strict=True)]
        if change.system is not None:
            changed = [with_system(prompt, change.system) for prompt in changed]
        args, kwargs = with_first(args, kwargs, name, changed if many else changed[0])
        if change.model is not None:
            kwargs = with_model(instance, kwargs, change.model)
        return args, kwargs

    return change_call


# ----------------------------------------------------------------------------------------------- answers


def generate_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> LLMResult:
    if isinstance(value, LLMResult):
        return value
    message = as_ai_message(value)
    count = len(generate_prompts(instance, args, kwargs))
    each = [message, *(message.model_copy() for _ in range(count - 1))]
    return LLMResult(generations=[[ChatGeneration(message=one)] for one in each])


def stream_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> LLMResult:
    return LLMResult(generations=[[ChatGeneration(message=as_ai_message(value))]])


def answer_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[AIMessageChunk]:
    chunk = as_chunk(as_ai_message(value))
    if chunk.id is None:
        chunk.id = f"lc_run--{uuid4()}"
    yield chunk


TAKES = frozenset(("messages", "system", "model"))
GENERATE = Adapter(
    kind="llm.call",
    layer=LANGCHAIN_CHAT,
    span_kind=SpanKind.CLIENT,
    start=_alike,
    watch=watch,
    vary=note_client,
    reading=Reading(
        response=result_response,
        request=chat_request(generate_prompts),
        message=read,
        output=result_output,
        mark=result_mark,
        system_in_messages=True,
    ),
    editing=Editing(
        rewrite=chat_rewrite(generate_prompts, "messages", many=True),
        takes=TAKES,
        answer=generate_answer,
        announce=CHAT_GENERATE,
    ),
    nesting=Nesting(
        role="framework",
        carries=carries_prompts(generate_prompts),
        # A model that cannot stream answers `stream` with `invoke`; an overridden `invoke` continues here.
        transport_of=frozenset((LANGCHAIN_CHAT_STREAM, LANGCHAIN_CHAT_INVOKE)),
    ),
)
STREAM = Adapter(
    kind="llm.call",
    layer=LANGCHAIN_CHAT_STREAM,
    span_kind=SpanKind.CLIENT,
    start=_stream_alike,
    watch=watch,
    vary=note_client,
    reading=Reading(
        response=result_response,
        request=chat_request(stream_prompts),
        message=read,
        output=result_output,
        system_in_messages=True,
    ),
    editing=Editing(
        rewrite=chat_rewrite(stream_prompts, "input", many=False),
        takes=TAKES,
        answer=stream_answer,
        announce=CHAT_STREAM,
    ),
    streaming=Streaming(chunks=ChatChunks, answer_chunks=answer_chunks, texts=MESSAGE_TEXTS),
    nesting=Nesting(
        role="framework", carries=carries_prompts(stream_prompts), transport_of=frozenset((LANGCHAIN_CHAT_INVOKE,))
    ),
)
