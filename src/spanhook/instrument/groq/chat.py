"""What Groq's chat completions have beyond OpenAI's: ``x_groq``, tools that Groq runs, usage by model."""

from collections.abc import Iterator, Mapping
from typing import Any

from spanhook.instrument.formats.openai import Chat, ChatChunks, ChoiceTexts, completion_usage
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Fields,
    Part,
    Payload,
    as_reported,
    decoded,
    extra_of,
    fields_of,
    list_of,
    plain,
    text_of,
)
from spanhook.model import Attributes, Chunks, Message, Route, Texts, Usage

_RUN = ("server_tool_call", "server_tool_call_response")


class GroqChat(Chat):
    """Groq's chat completions. A stream always reports its usage, so it is not asked for."""

    content = (Chat.content or frozenset()) | {"documents"}
    beside = ("documents",)

    def asking(self, body: Fields) -> Fields | None:  # noqa: ARG002
        return None

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes, used = super().response(told)
        return attributes, _by_model(used, told.get("usage_breakdown"))

    def output(self, told: Fields) -> list[Message]:
        messages = super().output(told)
        for message, choice in zip(messages, list_of(told.get("choices")), strict=True):
            run = list(_tools_run(fields_of(fields_of(choice).get("message"))))
            message["parts"] = [*run, *message["parts"]]
        return messages

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return _GroqChunks(body, construct, itself=self.itself)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return _GroqTexts(chunk_like)

    def payload(self, body: Fields, value: Any) -> Payload:
        messages = [value] if isinstance(value, dict) and "parts" in value else value
        return super().payload(body, list(map(_without_run, messages)) if isinstance(messages, list) else messages)


def _tools_run(message: Fields) -> Iterator[Part]:
    """The tools that Groq ran, and what they returned."""
    for tool in list_of(message.get("executed_tools")):
        told = {name: value for name, value in plain(tool).items() if value is not None and name != "index"}
        kind = text_of(told.get("type"))
        call = {"type": kind, "arguments": decoded(told.pop("arguments", None))}
        yield {"type": "server_tool_call", "name": kind, "server_tool_call": call}
        if len(told) > 1:
            yield {"type": "server_tool_call_response", "server_tool_call_response": told}


def _without_run(message: Any) -> Any:
    """A message that a hook gave, without tools that Groq has run."""
    if not isinstance(message, dict) or "parts" not in message:
        return message
    return {**message, "parts": [part for part in message["parts"] if part.get("type") not in _RUN]}


def _by_model(used: Usage | None, breakdown: Any) -> Usage | None:
    """Usage with that of each model apart, if they are all there."""
    models = [fields_of(one) for one in list_of(fields_of(breakdown).get("models"))]
    parts = [(text_of(one.get("model")), completion_usage(one.get("usage"))) for one in models]
    known = tuple((model, part) for model, part in parts if model and part is not None)
    if used is not None and sum(part.total_tokens for _, part in known) == used.total_tokens:
        used.apart = known
    return used


class _GroqChunks(ChatChunks):
    """Adds up chunks, the last of which reports usage in ``x_groq``."""

    __slots__ = ("_breakdown",)

    def __init__(self, body: Fields, construct: Construct, *, itself: bool) -> None:
        super().__init__(body, construct, itself=itself)
        self._breakdown: Any = None

    def add(self, chunk: Any) -> bool:
        beyond = fields_of(chunk).get("x_groq")
        if beyond is not None:
            told = fields_of(beyond)
            self.usage = as_reported(told.get("usage")) or self.usage
            # the SDK's older versions do not define it
            self._breakdown = told.get("usage_breakdown") or extra_of(beyond, "usage_breakdown") or self._breakdown
        return super().add(chunk)

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = super().response()
        return attributes, _by_model(used, self._breakdown)


class _GroqTexts(ChoiceTexts):
    """Texts of chunks; what ``x_groq`` tells for debugging spells them out."""

    def write(self, chunk: Any, texts: Mapping[Route, str]) -> Any:
        debug: Mapping[Route, Any] = {("x_groq", "debug"): None}
        return super().write(
            chunk, {**texts, **debug} if fields_of(fields_of(chunk).get("x_groq")).get("debug") else texts
        )
