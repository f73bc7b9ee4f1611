"""Converse, Bedrock's API for all models; Nova's own bodies are nearly the same."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.bedrock.blocks import from_message, texts_in, to_message, to_part
from spanhook.instrument.formats.bedrock.converse_chunks import (
    ConverseChunks,
    ConverseTexts,
    converse_events,
    response_of,
)
from spanhook.instrument.formats.bedrock.describing import note_guardrail, note_parameters
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
    one_prompt,
    rewrite,
    text_in,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text, in_pieces

_PARAMETERS = {
    "temperature": ("temperature",),
    "max_tokens": ("maxTokens", "max_new_tokens"),
    "top_p": ("topP", "top_p"),
    "top_k": ("topK", "top_k"),
    "stop": ("stopSequences",),
}


class Converse(Format):
    """Converse."""

    turns = "messages"
    beside = ("promptVariables",)

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
        more = fields_of(body.get("additionalModelRequestFields"))
        note_parameters(attributes, {**more, **fields_of(body.get("inferenceConfig"))}, _PARAMETERS)
        note_guardrail(attributes, fields_of(body.get("guardrailConfig")).get("guardrailIdentifier"))
        asked = fields_of(body.get("outputConfig"))
        if fields_of(asked.get("textFormat")).get("type") == "json_schema":
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"
        if isinstance(asked.get("effort"), str):
            attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = asked["effort"]

    def is_result(self, turn: Any) -> bool:
        return any("toolResult" in fields_of(one) for one in list_of(fields_of(turn).get("content")))

    def request(self, body: Fields) -> Request:
        tools = list_of(fields_of(body.get("toolConfig")).get("tools"))
        return Request(
            messages=[to_message(one) for one in list_of(body.get("messages"))],
            system=text_in([to_part(one) for one in list_of(body.get("system"))], "\n"),
            tools=[name for name in map(_tool_name, tools) if name],
            tool_definitions=tools,
            inputs=body.get("messages"),
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        messages = list_of(body.get("messages"))
        return [in_pieces(texts_in(messages[-1])) if messages else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["messages"] = list(change.inputs)
        if change.messages is not None:
            natives = list_of(body.get("messages"))
            body["messages"] = rewrite(natives, one_prompt(change.messages), to_message, from_message)
        if change.system is not None:
            kept = [one for one in list_of(body.get("system")) if to_part(one).get("type") != "text"]
            body["system"] = [{"text": change.system}, *kept]
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message({"role": "user", "content": wire} if isinstance(wire, str) else wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return response_of(told)

    def output(self, told: Fields) -> list[Message]:
        said = fields_of(told.get("output")).get("message")
        return [finished(to_message(said), told.get("stopReason"))] if said else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ConverseChunks(body, construct)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002 - chunks are JSON
        return ConverseTexts()

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """An answer on the wire, for text, a complete answer, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "output" in value:
            made: Payload = value
        else:
            messages = messages_in(value, "an answer is text, a response of Converse or messages", key="role")
            said = [from_message(message)[0]["content"] for message in messages]
            blocks = [[{"text": one}] if isinstance(one, str) else one for one in said]
            content = [block for several in blocks for block in several]
            made = {"output": {"message": {"role": "assistant", "content": content}}}
        called = any("toolUse" in block for block in made["output"]["message"]["content"])
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        known = {"stopReason": "tool_use" if called else "end_turn", "usage": usage, "metrics": {"latencyMs": 0}}
        return {**known, **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        return converse_events(payload)

    def error(self, status: int, reason: str) -> Payload:  # noqa: ARG002
        return {"message": reason}


def _tool_name(tool: Any) -> str:
    for kind in ("toolSpec", "systemTool"):
        name = fields_of(fields_of(tool).get(kind)).get("name")
        if name:
            return exact_text(name)
    return ""
