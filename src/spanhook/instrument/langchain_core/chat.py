"""Chat models: ``generate``, ``stream`` and the event streams of ``BaseChatModel``, sync and async."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.langchain_core.messages import from_message, rewrite, to_message, with_system
from spanhook.instrument.langchain_core.model import describe, model_of
from spanhook.instrument.layers import LANGCHAIN_CHAT, LANGCHAIN_CHAT_STREAM
from spanhook.shape import Args, Attributes, Change, Kwargs, Message, Request, Shape, first, with_first
from spanhook.usage import Usage


def chat_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, kwargs)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
    return attributes


def stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = chat_start(instance, args, kwargs)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


# ----------------------------------------------------------------------------------------------- requests

Prompts = Callable[[Any, Args, Kwargs], Sequence[Sequence[BaseMessage]]]


def generate_prompts(_instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return first(args, kwargs, "messages")


def stream_prompts(instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return [instance._convert_input(first(args, kwargs, "input")).to_messages()]


def event_prompts(_instance: Any, args: Args, kwargs: Kwargs) -> Sequence[Sequence[BaseMessage]]:
    return [first(args, kwargs, "messages")]


def _request(prompts: Prompts) -> Callable[[Any, Args, Kwargs], Request]:
    def request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
        messages = [to_message(message) for prompt in prompts(instance, args, kwargs) for message in prompt]
        return Request(
            messages=messages,
            system=_system(messages),
            tools=[tool_name(tool) for tool in kwargs.get("tools") or ()],
            inputs=first(args, kwargs, "input" if prompts is stream_prompts else "messages"),
            model=model_of(instance, kwargs),
        )

    return request


def _system(messages: Sequence[Message]) -> str:
    return "\n".join(
        str(part.get("content", ""))
        for message in messages
        if message["role"] == "system"
        for part in message["parts"]
        if part.get("type") == "text"
    )


def tool_name(tool: Any) -> str:
    """The name of a tool as models are given it."""
    if not isinstance(tool, dict):
        return str(getattr(tool, "name", tool))
    return str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", ""))


def _rewrite(prompts: Prompts, name: str, *, many: bool) -> Callable[..., tuple[Args, Kwargs]]:
    def change_call(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
        changed: list[list[BaseMessage]] = [list(prompt) for prompt in prompts(instance, args, kwargs)]
        if change.messages is not None:
            given: Any = change.messages
            if len(changed) == 1 and not (given and isinstance(given[0], list | tuple)):
                given = [given]
            if len(given) != len(changed):
                raise ValueError(f"the batch has {len(changed)} prompts; messages= needs a list of messages for each")
            changed = [rewrite(prompt, new) for prompt, new in zip(changed, given, strict=True)]
        if change.system is not None:
            changed = [with_system(prompt, change.system) for prompt in changed]
        args, kwargs = with_first(args, kwargs, name, changed if many else changed[0])
        if change.model is not None:
            kwargs = {**kwargs, "model": change.model}
        return args, kwargs

    return change_call


# ----------------------------------------------------------------------------------------------- responses


def usage_of(reported: Any) -> Usage | None:
    """Usage as LangChain reports it on a message; none for an answer that came from a cache."""
    if not reported or reported.get("total_cost") == 0:
        return None
    inputs, outputs = reported.get("input_token_details") or {}, reported.get("output_token_details") or {}
    written = inputs.get("cache_creation") or 0
    written += sum(amount or 0 for name, amount in inputs.items() if name.startswith("ephemeral_"))
    return Usage(
        reported.get("input_tokens") or 0,
        reported.get("output_tokens") or 0,
        inputs.get("cache_read") or 0,
        written,
        outputs.get("reasoning") or 0,
    )


def _legacy_usage(reported: Any) -> Usage | None:
    """Usage in ``llm_output``, which older integrations and text models fill in OpenAI's terms."""
    if not isinstance(reported, dict) or not reported:
        return None
    return Usage(
        reported.get("prompt_tokens") or reported.get("input_tokens") or 0,
        reported.get("completion_tokens") or reported.get("output_tokens") or 0,
    )


def result_response(result: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of an ``LLMResult``, over all its prompts."""
    attributes: Attributes = {}
    used: Usage | None = None
    reasons: list[str] = []
    cached = False
    for generations in result.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            info = generation.generation_info or {}
            told = getattr(message, "response_metadata", None) or info
            _note(attributes, told)
            reason = told.get("finish_reason") or told.get("stop_reason") or info.get("finish_reason")
            if reason:
                reasons.append(reason)
            reported = getattr(message, "usage_metadata", None)
            if reported is not None:
                mine = usage_of(reported)
                cached = cached or mine is None
                if mine is not None:
                    if used is None:
                        used = mine
                    else:
                        used.add(mine)
    output = result.llm_output or {}
    _note(attributes, output)
    if used is None and not cached:
        used = _legacy_usage(output.get("token_usage") or output.get("usage"))
    if reasons:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(reasons)
    return attributes, used


def _note(attributes: Attributes, told: Any) -> None:
    model = told.get("model_name") or told.get("model")
    if model and semconv.GEN_AI_RESPONSE_MODEL not in attributes:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = model
    identifier = told.get("id")
    if identifier and semconv.GEN_AI_RESPONSE_ID not in attributes:
        attributes[semconv.GEN_AI_RESPONSE_ID] = identifier


def result_output(result: Any) -> list[Message]:
    """Output messages of an ``LLMResult``."""
    found: list[Message] = []
    for generations in result.generations:
        for generation in generations:
            message = getattr(generation, "message", None)
            converted = (
                to_message(message)
                if message is not None
                else {"role": "assistant", "parts": [{"type": "text", "content": generation.text}]}
            )
            told = getattr(message, "response_metadata", None) or generation.generation_info or {}
            converted["finish_reason"] = told.get("finish_reason") or told.get("stop_reason") or "stop"
            found.append(converted)
    return found


class ChatChunks:
    """Adds up the ``AIMessageChunk``s of a stream, or the events of the v3 protocol."""

    __slots__ = ("_attributes", "_reasons", "_used", "complete", "keep", "kept")

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self.kept: list[Any] = []
        self._attributes: Attributes = {}
        self._reasons: list[str] = []
        self._used: Usage | None = None

    def add(self, chunk: Any) -> bool:
        if isinstance(chunk, dict):
            self._event(chunk)
        else:
            self.complete = getattr(chunk, "chunk_position", "last") == "last"  # a whole message has no position
            told = chunk.response_metadata
            if told:
                self._told(told)
            if chunk.usage_metadata:
                self._use(chunk.usage_metadata)
        if self.keep:
            self.kept.append(chunk)
        return True

    def _event(self, event: dict[str, Any]) -> None:
        self.complete = event.get("event") == "message-finish"
        for key in ("metadata", "response_metadata"):
            told = event.get(key)
            if isinstance(told, dict):
                self._told(told)
        if isinstance(event.get("usage"), dict):
            self._use(event["usage"])

    def _told(self, told: Any) -> None:
        _note(self._attributes, told)
        reason = told.get("finish_reason") or told.get("stop_reason")
        if reason:
            self._reasons.append(reason)

    def _use(self, reported: Any) -> None:
        mine = usage_of(reported)
        if mine is None:
            return
        if self._used is None:
            self._used = mine
        else:
            self._used.add(mine)

    def response(self) -> tuple[Attributes, Usage | None]:
        if self._reasons:
            self._attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(self._reasons)
        return self._attributes, self._used

    def result(self) -> LLMResult | None:
        """The stream as ``generate`` would have returned it."""
        messages = [chunk for chunk in self.kept if isinstance(chunk, BaseMessage)]
        if not messages:
            return None
        whole: Any = messages[0]
        for chunk in messages[1:]:
            whole = whole + chunk
        return LLMResult(generations=[[ChatGeneration(message=whole)]])


# ----------------------------------------------------------------------------------------------- answers


def as_ai_message(value: Any) -> AIMessage:
    """The AI message for what a hook answered with.

    Raises:
        TypeError: It is neither text, nor a message, nor a result.
    """
    if isinstance(value, LLMResult):
        value = value.generations[0][0]
    if isinstance(value, ChatResult):
        value = value.generations[0]
    if isinstance(value, ChatGeneration):
        value = value.message
    if isinstance(value, dict) and "role" in value:
        value = from_message(value)
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        value = from_message(value[-1])
    if isinstance(value, AIMessage):
        return value
    if isinstance(value, str):
        return AIMessage(content=value)
    raise TypeError(f"a chat model's answer is text, an AIMessage or an LLMResult, not {type(value).__name__}")


def generate_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> LLMResult:
    if isinstance(value, LLMResult):
        return value
    message = as_ai_message(value)
    return LLMResult(generations=[[ChatGeneration(message=message)] for _ in generate_prompts(instance, args, kwargs)])


def stream_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> LLMResult:
    return LLMResult(generations=[[ChatGeneration(message=as_ai_message(value))]])


def answer_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[AIMessageChunk]:
    message = as_ai_message(value)
    if isinstance(message, AIMessageChunk):
        yield message
        return
    yield AIMessageChunk(
        content=message.content,
        id=message.id or "run-spanhook",
        tool_calls=message.tool_calls,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )


def answer_events(_instance: Any, _args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    """Events of the v3 protocol, told to the stream and the callbacks as the library's own generator does."""
    from langchain_core.language_models._compat_bridge import message_to_events

    for event in message_to_events(as_ai_message(value)):
        kwargs["stream"].dispatch(event)
        yield event


TAKES = frozenset(("messages", "system", "model"))
GENERATE = Shape(
    kind="llm.call",
    layer=LANGCHAIN_CHAT,
    span_kind=SpanKind.CLIENT,
    start=chat_start,
    response=result_response,
    request=_request(generate_prompts),
    output=result_output,
    rewrite=_rewrite(generate_prompts, "messages", many=True),
    takes=TAKES,
    answer=generate_answer,
    transport_of=frozenset((LANGCHAIN_CHAT_STREAM,)),  # a model that cannot stream answers `stream` with `invoke`
    same_instance=True,
)
STREAM = Shape(
    kind="llm.call",
    layer=LANGCHAIN_CHAT_STREAM,
    span_kind=SpanKind.CLIENT,
    start=stream_start,
    response=result_response,
    request=_request(stream_prompts),
    output=result_output,
    rewrite=_rewrite(stream_prompts, "input", many=False),
    takes=TAKES,
    answer=stream_answer,
    chunks=ChatChunks,
    answer_chunks=answer_chunks,
)
EVENTS = Shape(
    kind="llm.call",
    layer=LANGCHAIN_CHAT_STREAM,
    span_kind=SpanKind.CLIENT,
    start=stream_start,
    response=result_response,
    request=_request(event_prompts),
    output=result_output,
    rewrite=_rewrite(event_prompts, "messages", many=False),
    takes=TAKES,
    answer=stream_answer,
    chunks=ChatChunks,
    answer_chunks=answer_events,
    transport_of=frozenset((LANGCHAIN_CHAT,)),  # `generate` reads the events itself where a handler asks for them
    same_instance=True,
)
