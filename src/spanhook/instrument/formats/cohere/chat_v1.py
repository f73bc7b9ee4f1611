"""Chat, version 1 of the API: one message, and the history before it."""

from collections.abc import Iterator, Sequence
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.cohere.describing import NO_USAGE, CohereFormat, noted_answer, used_in
from spanhook.instrument.formats.cohere.line_chunks import LINE_TEXTS, LineChunks
from spanhook.instrument.formats.cohere.messages import tool_name
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Part,
    Payload,
    Wire,
    fields_of,
    finished,
    list_of,
    messages_in,
    one_prompt,
    text_in,
    text_of,
)
from spanhook.instrument.wire import rewrite as rewrite_each
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage

_ROLES = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system", "TOOL": "tool"}
_WIRE_ROLES = {role: wire for wire, role in _ROLES.items()}


class ChatV1(CohereFormat):
    """Chat."""

    beside = ("documents",)

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        conversation = body.get("conversation_id")
        if isinstance(conversation, str) and conversation:
            attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation

    def request(self, body: Fields) -> Request:
        tools = list_of(body.get("tools"))
        return Request(
            messages=[_to_message(entry) for entry in _entries(body)],
            system=text_of(body.get("preamble")),
            tools=[tool_name(tool) for tool in tools],
            tool_definitions=tools,
            inputs=body.get("message"),
            model=text_of(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        return [text_of(body.get("message")) or None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["message"] = change.inputs
        if change.messages is not None:
            entries = rewrite_each(_entries(body), one_prompt(change.messages), _to_message, _from_message)
            _put(body, entries)
        if change.system is not None:
            body["preamble"] = change.system
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return _to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes = noted_answer(told)
        reason = text_of(told.get("finish_reason"))
        if reason:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
        return attributes, used_in(told.get("meta"))

    def output(self, told: Fields) -> list[Message]:
        said = {"role": "CHATBOT", "message": told.get("text"), "tool_calls": told.get("tool_calls")}
        return [finished(_to_message(said), told.get("finish_reason"))] if "text" in told else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return LineChunks(body, construct, self.response)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002
        return LINE_TEXTS

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """A chat's response on the wire, for text, a response, or a message in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "text" in value:
            made: Payload = dict(value)
        else:
            messages = messages_in(value, "a chat's answer is text, a response or a message", key="role")
            said = _from_message(messages[0])[0] if messages else {}
            made = {"text": said.get("message") or ""}
            if said.get("tool_calls"):
                made["tool_calls"] = said["tool_calls"]
        known = {"generation_id": "spanhook", "response_id": "spanhook", "finish_reason": "COMPLETE"}
        return {**known, "meta": NO_USAGE, **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """A chat's response as the lines of a stream."""
        going = {"is_finished": False}
        yield "", {**going, "event_type": "stream-start", "generation_id": payload.get("generation_id")}
        if payload["text"]:
            yield "", {**going, "event_type": "text-generation", "text": payload["text"]}
        if payload.get("tool_calls"):
            yield "", {**going, "event_type": "tool-calls-generation", "tool_calls": payload["tool_calls"]}
        ending = {"finish_reason": payload.get("finish_reason"), "response": payload}
        yield "", {"is_finished": True, "event_type": "stream-end", **ending}


def _entries(body: Fields) -> list[Any]:
    """What is said: the history, the message, and results of tools that come with it."""
    entries = [*list_of(body.get("chat_history"))]
    if body.get("message"):
        entries.append({"role": "USER", "message": body["message"]})
    if body.get("tool_results"):
        entries.append({"role": "TOOL", "tool_results": body["tool_results"]})
    return entries


def _put(body: Payload, entries: Sequence[Any]) -> None:
    """Say something else."""
    left = [dict(fields_of(entry)) for entry in entries]
    results = left.pop() if body.get("tool_results") and left and left[-1].get("role") == "TOOL" else None
    if results is not None:
        body["tool_results"] = results.get("tool_results")
    else:
        body.pop("tool_results", None)
    last = left.pop() if left and left[-1].get("role") == "USER" else {"message": ""}
    body["message"] = last.get("message") or ""
    if left or body.get("chat_history"):
        body["chat_history"] = left


def _to_message(entry: Any) -> Message:
    """One entry in role/parts form."""
    told = fields_of(entry)
    role = _ROLES.get(text_of(told.get("role")).upper(), text_of(told.get("role")) or "user")
    said = told.get("message")
    parts: list[Part] = [{"type": "text", "content": said}] if isinstance(said, str) and said else []
    parts.extend(
        {"type": "tool_call", "name": call.get("name"), "arguments": call.get("parameters")}
        for call in map(fields_of, list_of(told.get("tool_calls")))
    )
    parts.extend({"type": "tool_call_response", "response": result} for result in list_of(told.get("tool_results")))
    return {"role": role, "parts": parts}


def _from_message(message: Any, like: Wire | None = None) -> list[Wire]:
    """An entry on the wire for a message in role/parts form; one in Cohere's own form is taken as it is."""
    if "parts" not in message:
        return [dict(message)]
    parts, role = message["parts"], _WIRE_ROLES.get(message["role"], message["role"])
    wire: Wire = {**like} if like is not None and like.get("role") == role else {"role": role}
    results = [part.get("response") for part in parts if part.get("type") == "tool_call_response"]
    if results:
        return [{**wire, "tool_results": results}]
    calls = [
        {"name": part.get("name"), "parameters": part.get("arguments") or {}}
        for part in parts
        if part.get("type") == "tool_call"
    ]
    wire.pop("tool_calls", None)
    wire["message"] = text_in(parts)
    return [{**wire, "tool_calls": calls} if calls else wire]
