"""Text completion models: ``generate`` and ``stream`` of ``BaseLLM``, sync and async."""

from collections.abc import Iterable
from typing import Any

from langchain_core.outputs import Generation, LLMResult
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.langchain_core.announcing import TEXT_GENERATE, TEXT_STREAM
from spanhook.instrument.langchain_core.model import describe, model_of, with_model
from spanhook.instrument.langchain_core.results import result_output, result_response
from spanhook.instrument.langchain_core.texts import TEXT
from spanhook.instrument.layers import LANGCHAIN_LLM, LANGCHAIN_LLM_INVOKE, LANGCHAIN_LLM_STREAM
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
    first,
    with_first,
)


def text_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, kwargs)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "text_completion"
    return attributes


def text_stream_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = text_start(instance, args, kwargs)
    attributes[semconv.GEN_AI_REQUEST_STREAM] = True
    return attributes


def _as_message(prompt: str) -> Message:
    return {"role": "user", "parts": [{"type": "text", "content": prompt}]}


def _as_prompt(message: Any) -> str:
    if isinstance(message, str):
        return message
    if "parts" not in message and isinstance(message.get("content"), str):
        return message["content"]
    return "".join(str(part.get("content", "")) for part in message["parts"] if part.get("type") == "text")


def text_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    prompts = first(args, kwargs, "prompts")
    return Request(messages=[_as_message(one) for one in prompts], inputs=prompts, model=model_of(instance, kwargs))


def text_stream_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    given = first(args, kwargs, "input")
    prompt = instance._convert_input(given).to_string()
    return Request(messages=[_as_message(prompt)], inputs=given, model=model_of(instance, kwargs))


def text_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return list(first(args, kwargs, "prompts"))


def text_stream_carries(instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [instance._convert_input(first(args, kwargs, "input")).to_string()]


def text_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if change.messages is not None:
        count = len(first(args, kwargs, "prompts"))
        if len(change.messages) != count:
            raise ValueError(f"the batch has {count} prompts; messages= needs one message for each")
        args, kwargs = with_first(args, kwargs, "prompts", [_as_prompt(one) for one in change.messages])
    return args, kwargs if change.model is None else with_model(instance, kwargs, change.model)


def text_stream_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    if change.messages is not None:
        args, kwargs = with_first(args, kwargs, "input", "\n".join(_as_prompt(one) for one in change.messages))
    return args, kwargs if change.model is None else with_model(instance, kwargs, change.model)


class TextChunks:
    """Joins the strings of a stream; text models report no usage in it."""

    __slots__ = ("complete", "keep", "kept")

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self.kept: list[str] = []

    def add(self, chunk: str) -> bool:
        if self.keep:
            self.kept.append(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> LLMResult:
        return LLMResult(generations=[[Generation(text="".join(self.kept))]])


def text_of(value: Any) -> str:
    """The text of a hook's answer.

    Raises:
        TypeError: It is neither text nor a result.
    """
    if isinstance(value, LLMResult):
        return value.generations[0][0].text
    if isinstance(value, str):
        return value
    raise TypeError(f"a text model's answer is text or an LLMResult, not {type(value).__name__}")


def text_answer(_instance: Any, args: Args, kwargs: Kwargs, value: Any) -> LLMResult:
    if isinstance(value, LLMResult):
        return value
    return LLMResult(generations=[[Generation(text=text_of(value))] for _ in first(args, kwargs, "prompts")])


def text_stream_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> LLMResult:
    return LLMResult(generations=[[Generation(text=text_of(value))]])


def text_answer_chunks(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[str]:
    yield text_of(value)


TAKES = frozenset(("messages", "model"))
GENERATE = Adapter(
    kind="llm.call",
    layer=LANGCHAIN_LLM,
    span_kind=SpanKind.CLIENT,
    start=text_start,
    reading=Reading(response=result_response, request=text_request, output=result_output),
    editing=Editing(rewrite=text_rewrite, takes=TAKES, answer=text_answer, announce=TEXT_GENERATE),
    nesting=Nesting(
        role="framework", carries=text_carries, transport_of=frozenset((LANGCHAIN_LLM_STREAM, LANGCHAIN_LLM_INVOKE))
    ),
)
STREAM = Adapter(
    kind="llm.call",
    layer=LANGCHAIN_LLM_STREAM,
    span_kind=SpanKind.CLIENT,
    start=text_stream_start,
    reading=Reading(response=result_response, request=text_stream_request, output=result_output),
    editing=Editing(rewrite=text_stream_rewrite, takes=TAKES, answer=text_stream_answer, announce=TEXT_STREAM),
    streaming=Streaming(chunks=TextChunks, answer_chunks=text_answer_chunks, texts=TEXT),
    nesting=Nesting(role="framework", carries=text_stream_carries, transport_of=frozenset((LANGCHAIN_LLM_INVOKE,))),
)
