"""Legacy text completions: requests, responses, streams, answers."""

from collections.abc import Iterator
from typing import Any

from spanhook.instrument.formats.openai.asking import asking_for_usage, not_asking
from spanhook.instrument.formats.openai.deltas import Deltas
from spanhook.instrument.formats.openai.describing import OpenAIFormat
from spanhook.instrument.formats.openai.reading import completion_response
from spanhook.instrument.formats.openai.texts import ChoiceTexts
from spanhook.instrument.surroundings import seconds
from spanhook.instrument.wire import ChunkLike, Construct, Event, Fields, Payload, fields_of, finished, list_of
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text


class Completions(OpenAIFormat):
    """Text completions."""

    operation = "text_completion"
    takes = frozenset(("messages", "inputs", "model"))
    last = "[DONE]"
    beside = ("suffix",)

    # ------------------------------------------------------------------------------------------ requests

    def request(self, body: Fields) -> Request:
        messages = [_text("user", prompt) for prompt in _prompts(body)]
        return Request(messages=messages, inputs=body.get("prompt"), model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        return [prompt if isinstance(prompt, str) else None for prompt in _prompts(body)]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["prompt"] = change.inputs
        if change.messages is not None:
            before = _prompts(body)
            prompts = [_prompt(message, before, index) for index, message in enumerate(change.messages)]
            body["prompt"] = prompts if isinstance(body.get("prompt"), list) and len(before) != 1 else prompts[0]
        if change.model is not None:
            body["model"] = change.model

    def asking(self, body: Fields) -> Fields | None:
        return asking_for_usage(body)

    def not_asking(self, body: Fields) -> Fields | None:
        return not_asking(body)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return completion_response(told, itself=self.itself)

    def output(self, told: Fields) -> list[Message]:
        messages: list[Message] = []
        for choice in list_of(told.get("choices")):
            said = fields_of(choice)
            messages.append(finished(_text("assistant", said.get("text") or ""), said.get("finish_reason")))
        return messages

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return TextChunks(body, construct, itself=self.itself)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return ChoiceTexts(chunk_like)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A text completion on the wire, for text, a list of texts, or a complete completion.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "choices" in value:
            made: Payload = value
        else:
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise TypeError(f"a text completion's answer is text or a Completion, not {type(value).__name__}")
            made = {"choices": [_choice(index, text) for index, text in enumerate(texts)]}
        known = {"id": "cmpl-spanhook", "object": "text_completion", "created": seconds()}
        return {**known, "model": exact_text(body.get("model")), **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        for choice in payload["choices"]:
            yield "", {**payload, "choices": [choice], "usage": None}


def _prompts(body: Fields) -> list[Any]:
    """The prompts of a request; a prompt in tokens stays as it is."""
    prompt = body.get("prompt")
    if prompt is None:
        return []
    if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
        return prompt
    return [prompt]


def _text(role: str, text: Any) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text if isinstance(text, str) else str(text)}]}


def _prompt(message: Any, before: list[Any], index: int) -> Any:
    if isinstance(message, str):
        return message
    if "parts" not in message and isinstance(message.get("content"), str):
        return message["content"]
    if index < len(before) and _text("user", before[index]) == message:
        return before[index]
    return "".join(str(part.get("content", "")) for part in message["parts"] if part.get("type") == "text")


def _choice(index: int, text: str) -> Payload:
    return {"index": index, "text": text, "finish_reason": "stop", "logprobs": None}


class TextChunks(Deltas):
    """Counts the characters of the text; keeps it only if ``keep``."""

    __slots__ = ("_text",)

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        super().__init__(body, construct, itself=itself)
        self._text: dict[int, list[str]] = {}

    def wanted(self) -> int:
        return len(_prompts(self.body)) * super().wanted()

    def hear(self, index: int, said: Fields) -> None:
        text = said.get("text") or ""
        self.characters += len(text)
        if self.keep:
            self._text.setdefault(index, []).append(text)

    def result(self) -> Any:
        choices = [
            {**_choice(index, "".join(pieces)), "finish_reason": self.reasons.get(index)}
            for index, pieces in sorted(self._text.items())
        ]
        return self.construct({**self.whole(), "object": "text_completion", "choices": choices})
