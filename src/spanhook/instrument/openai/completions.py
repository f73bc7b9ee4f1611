"""Legacy text completions: requests, responses, streams, answers."""

from collections.abc import Iterator
from typing import Any

from openai._models import construct_type
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.asking import ask_for_usage
from spanhook.instrument.openai.deltas import Deltas
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe
from spanhook.instrument.openai.reading import completion_response
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.openai.texts import CHOICE_TEXTS
from spanhook.instrument.stainless import Api, Event, Fields, Payload, body_of, fields_of, finished, list_of, with_body
from spanhook.instrument.surroundings import seconds
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Kwargs, Message, Request


def completions_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    attributes = describe(instance, args, kwargs, body_of(args, kwargs))
    attributes[semconv.GEN_AI_OPERATION_NAME] = "text_completion"
    return attributes


def _prompts(body: Any) -> list[Any]:
    """The prompts of a request; a prompt in tokens stays as it is."""
    prompt = body.get("prompt")
    if prompt is None:
        return []
    if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
        return prompt
    return [prompt]


def _text(role: str, text: Any) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text if isinstance(text, str) else str(text)}]}


def completions_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = body_of(args, kwargs)
    messages = [_text("user", prompt) for prompt in _prompts(body)]
    return Request(messages=messages, inputs=body.get("prompt"), model=str(body.get("model") or ""))


def completions_carry(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [prompt if isinstance(prompt, str) else None for prompt in _prompts(body_of(args, kwargs))]


def completions_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = dict(body_of(args, kwargs))
    if change.inputs is not None:
        body["prompt"] = change.inputs
    if change.messages is not None:
        before = _prompts(body)
        prompts = [_prompt(message, before, index) for index, message in enumerate(change.messages)]
        body["prompt"] = prompts if isinstance(body.get("prompt"), list) and len(before) != 1 else prompts[0]
    if change.model is not None:
        with_model(instance, args, kwargs, body, change.model)
    return with_body(args, kwargs, body)


def _prompt(message: Any, before: list[Any], index: int) -> Any:
    if isinstance(message, str):
        return message
    if "parts" not in message and isinstance(message.get("content"), str):
        return message["content"]
    if index < len(before) and _text("user", before[index]) == message:
        return before[index]
    return "".join(str(part.get("content", "")) for part in message["parts"] if part.get("type") == "text")


def completions_output(result: Any) -> list[Message]:
    messages: list[Message] = []
    for choice in list_of(fields_of(result_of(result)).get("choices")):
        told = fields_of(choice)
        messages.append(finished(_text("assistant", told.get("text") or ""), told.get("finish_reason")))
    return messages


def completions_payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    """A text completion on the wire, for text, a list of texts, or a complete completion.

    Raises:
        TypeError: It is none of these.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict(mode="json", warnings=False)
    if isinstance(value, dict) and "choices" in value:
        made: Payload = value
    else:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"a text completion's answer is text or a Completion, not {type(value).__name__}")
        made = {"choices": [_choice(index, text) for index, text in enumerate(texts)]}
    known = {"id": "cmpl-spanhook", "object": "text_completion", "created": seconds()}
    return {**known, "model": str(body_of(args, kwargs).get("model") or ""), **made}


def _choice(index: int, text: str) -> Payload:
    return {"index": index, "text": text, "finish_reason": "stop", "logprobs": None}


def completions_events(_args: Args, _kwargs: Kwargs, payload: Payload) -> Iterator[Event]:
    for choice in payload["choices"]:
        yield "", {**payload, "choices": [choice], "usage": None}


class TextChunks(Deltas):
    """Counts the characters of the text; keeps it only if ``keep``."""

    __slots__ = ("_text",)

    def __init__(self, instance: Any, args: Args, kwargs: Kwargs) -> None:
        super().__init__(instance, args, kwargs)
        self._text: dict[int, list[str]] = {}

    def wanted(self) -> int:
        return len(_prompts(self.body)) * super().wanted()

    def hear(self, index: int, said: Fields) -> None:
        text = said.get("text") or ""
        self.characters += len(text)
        if self.keep:
            self._text.setdefault(index, []).append(text)

    def result(self) -> Any:
        from openai.types import Completion

        choices = [
            {**_choice(index, "".join(pieces)), "finish_reason": self.reasons.get(index)}
            for index, pieces in sorted(self._text.items())
        ]
        return construct_type(type_=Completion, value={**self.whole(), "object": "text_completion", "choices": choices})


_API = Api(
    sdk=SDK,
    payload=completions_payload,
    events=completions_events,
    response=completion_response,
    chunks=TextChunks,
    last="[DONE]",
)

COMPLETIONS = Adapter(
    kind="llm.call",
    layer=OPENAI,
    span_kind=SpanKind.CLIENT,
    start=completions_start,
    response=completion_response,
    request=completions_request,
    carries=completions_carry,
    output=completions_output,
    rewrite=completions_rewrite,
    takes=frozenset(("messages", "inputs", "model")),
    prepare=ask_for_usage,
    answer=_API.answer,
    stream_of=stream_of,
    chunks=TextChunks,
    answer_chunks=_API.answer_chunks,
    texts=CHOICE_TEXTS,
    body=_API.body,
    opaque=True,
)
