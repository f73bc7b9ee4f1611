"""Conversations: models and agents that keep what was said, run tools, and hand over to each other."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai import completion_usage
from spanhook.instrument.mistralai.chat import NO_USAGE, described
from spanhook.instrument.mistralai.conversation_chunks import EVENT_TEXTS, ConversationChunks
from spanhook.instrument.mistralai.entries import from_entry, rewrite, to_message, to_messages
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Format,
    Payload,
    fields_of,
    list_of,
    messages_in,
    one_prompt,
    text_in,
    text_of,
)
from spanhook.instrument.wire import described as described_common
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage


class Conversations(Format):
    """Starting, continuing and restarting a conversation."""

    last = ""
    beside = ("completion_args.prediction.content",)

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "chat"
        arguments = fields_of(body.get("completion_args"))
        for name, value in described_common(("", "", 0), None, arguments, streamed=False).items():
            if name != semconv.GEN_AI_PROVIDER_NAME:
                attributes[name] = value
        described(attributes, arguments)

    def request(self, body: Fields) -> Request:
        tools = list_of(body.get("tools"))
        return Request(
            messages=to_messages(body.get("inputs")),
            system=text_of(body.get("instructions")),
            tools=[_tool_name(tool) for tool in tools],
            tool_definitions=tools,
            inputs=body.get("inputs"),
            model=text_of(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        messages = to_messages(body.get("inputs"))
        return [text_in(messages[-1]["parts"]) or None if messages else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["inputs"] = change.inputs
        if change.messages is not None:
            body["inputs"] = rewrite(body.get("inputs"), one_prompt(change.messages))
        if change.system is not None:
            body["instructions"] = change.system
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes: Attributes = {}
        conversation = told.get("conversation_id")
        if isinstance(conversation, str) and conversation:
            attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
        for entry in list_of(told.get("outputs")):
            model = text_of(fields_of(entry).get("model"))
            if model:
                attributes[semconv.GEN_AI_RESPONSE_MODEL] = model
        return attributes, completion_usage(told.get("usage"))

    def output(self, told: Fields) -> list[Message]:
        return [to_message(entry) for entry in list_of(told.get("outputs"))]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ConversationChunks(body, construct, self.response)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002
        return EVENT_TEXTS

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A conversation's response on the wire, for text, a response, or messages in role/parts form."""
        if isinstance(value, dict) and "outputs" in value:
            made: Payload = dict(value)
        else:
            expected = "a conversation's answer is text, a ConversationResponse or messages"
            messages = messages_in(value, expected)
            made = {"outputs": [_output(entry, body) for one in messages for entry in from_entry(one)]}
        known = {"object": "conversation.response", "conversation_id": "conv_spanhook", "usage": NO_USAGE}
        return {**known, **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """A conversation's response as the events of a stream."""
        started = "conversation.response.started"
        yield started, {"type": started, "conversation_id": payload["conversation_id"]}
        for index, entry in enumerate(payload["outputs"]):
            kind = text_of(entry.get("type"))
            head = {name: value for name, value in entry.items() if name not in ("object", "type", "content")}
            head["output_index"] = index
            if kind == "message.output":
                said = entry.get("content")
                for place, content in enumerate(said if isinstance(said, list) else [said]):
                    delta = {**head, "content": content, "content_index": place, "type": "message.output.delta"}
                    yield "message.output.delta", delta
            elif kind == "function.call":
                yield "function.call.delta", {**head, "type": "function.call.delta"}
            elif kind == "tool.execution":
                yield "tool.execution.started", {**head, "type": "tool.execution.started"}
                yield "tool.execution.done", {**head, "type": "tool.execution.done"}
        yield "conversation.response.done", {"type": "conversation.response.done", "usage": payload["usage"]}

    def error(self, status: int, reason: str) -> Payload:
        return {"object": "error", "message": reason, "type": "rejected", "param": None, "code": str(status)}


def _output(entry: Payload, body: Fields) -> Payload:
    """An entry as a model's output."""
    made = {"object": "entry", "id": "entry_spanhook", "model": text_of(body.get("model")), **entry}
    return {**made, "type": "message.output", "role": "assistant"} if entry["type"] == "message.input" else made


def _tool_name(tool: Any) -> str:
    """The name of a function; for Mistral's own tools, their type."""
    told = fields_of(tool)
    return text_of(fields_of(told.get("function")).get("name")) or text_of(told.get("type"))
