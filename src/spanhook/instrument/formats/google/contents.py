"""Content that a model generates: requests, responses, answers."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.chunks import ContentChunks, ContentTexts
from spanhook.instrument.formats.google.configuration import describe_generation
from spanhook.instrument.formats.google.errors import error_of
from spanhook.instrument.formats.google.parts import calls_in, from_message, read_part, texts_in, to_message, written
from spanhook.instrument.formats.google.reading import field, name_in, snake, usage_of
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Format,
    Payload,
    fields_of,
    finished,
    list_of,
    messages_in,
    noted,
    one_prompt,
    rewrite,
    text_in,
    text_of,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text, in_pieces

_OUTPUTS = {"application/json": "json", "text/x.enum": "json", "IMAGE": "image", "AUDIO": "speech", "VIDEO": "video"}
"""The conventions' types of output, by MIME type and by modality."""
_ANSWERED = ("candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime")


class GenerateContent(Format):
    """Content, at once or streamed."""

    turns = "contents"

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "generate_content"
        config = field(body, "generationConfig")
        if config is None:
            return
        describe_generation(attributes, config)
        asked = _output_type(config)
        if asked:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked

    def is_result(self, turn: Any) -> bool:
        return any(field(one, "functionResponse") for one in list_of(field(turn, "parts")))

    def request(self, body: Fields) -> Request:
        tools = [one for tool in list_of(body.get("tools")) for one in _definitions_in(tool)]
        return Request(
            messages=[to_message(content) for content in list_of(body.get("contents"))],
            system=_system_in(body),
            tools=[str(field(one, "name") or "") for one in tools],
            tool_definitions=tools,
            inputs=body.get("contents"),
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        contents = list_of(body.get("contents"))
        return [in_pieces(texts_in(contents[-1])) if contents else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["contents"] = list(change.inputs)
        if change.messages is not None:
            contents = list_of(body.get("contents"))
            names = calls_in(contents)
            body["contents"] = rewrite(
                contents, one_prompt(change.messages), to_message, lambda one, like: from_message(one, like, names)
            )
        if change.system is not None:
            name = name_in(body, "systemInstruction")
            before = body.get(name)
            parts = written([{"type": "text", "content": change.system}], field(before, "parts"))
            body[name] = {**(before if isinstance(before, dict) else {}), "parts": parts}
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return super().message(wire) if isinstance(wire, str | dict) else to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return response_of(told, [field(one, "finishReason") for one in list_of(told.get("candidates"))])

    def output(self, told: Fields) -> list[Message]:
        return [_said_by(candidate) for candidate in list_of(told.get("candidates"))]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ContentChunks(body, construct, response_of)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return ContentTexts(chunk_like)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A response on the wire, for text, a complete response, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "candidates" in value:
            made = {name: value[name] for name in _ANSWERED if value.get(name) is not None}
        else:
            messages = messages_in(value, "an answer is text, a GenerateContentResponse or messages", key="role")
            made: Payload = {"candidates": [_candidate(index, one) for index, one in enumerate(messages)]}
        usage = {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
        return {
            "usageMetadata": usage,
            "modelVersion": exact_text(body.get("model")),
            "responseId": "spanhook",
            **made,
        }

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        yield "", payload

    def error(self, status: int, reason: str) -> Payload:
        return error_of(status, reason)


def response_of(told: Fields, reasons: list[Any]) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a response.

    Args:
        told: Its JSON, without the candidates.
        reasons: Why each candidate has stopped. If the prompt was blocked, there are none, and the reason for that is
            the only one.
    """
    attributes = noted(
        {name: field(told, name) for name in ("responseId", "modelVersion")},
        (("responseId", semconv.GEN_AI_RESPONSE_ID), ("modelVersion", semconv.GEN_AI_RESPONSE_MODEL)),
    )
    known = [text_of(reason) for reason in reasons]
    blocked = text_of(field(field(told, "promptFeedback"), "blockReason"))
    if any(known):
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = tuple(reason or "error" for reason in known)
    elif blocked:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (blocked,)
    return attributes, usage_of(field(told, "usageMetadata"))


def _output_type(config: Any) -> str:
    """The type of output that is asked for: that of the only modality beside text, else that of the text."""
    modalities = {str(one).upper() for one in list_of(field(config, "responseModalities"))} - {"TEXT"}
    if len(modalities) == 1:
        return _OUTPUTS.get(modalities.pop(), "")
    mime = field(config, "responseMimeType")
    return _OUTPUTS.get(mime, "") if isinstance(mime, str) else ""


def _system_in(body: Fields) -> str:
    given = field(body, "systemInstruction")
    return text_in(map(read_part, list_of(field(given, "parts"))), "\n")


def _definitions_in(tool: Any) -> Iterator[Any]:
    """The functions that a tool declares, and what the provider runs, such as a search."""
    for name, value in fields_of(tool).items():
        if snake(name) == "function_declarations":
            yield from list_of(value)
        else:
            yield {"type": snake(name), "name": snake(name)}


def _said_by(candidate: Any) -> Message:
    content = field(candidate, "content")
    said = to_message(content) if content is not None else {"parts": []}
    return finished({**said, "role": "assistant"}, field(candidate, "finishReason"))


def _candidate(index: int, message: Message) -> Payload:
    reason = message.get("finish_reason") or "STOP"
    content = from_message({**message, "role": "assistant"})[0]
    return {"content": {"role": "model", "parts": content["parts"]}, "finishReason": reason, "index": index}
