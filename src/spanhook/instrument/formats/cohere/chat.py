"""Chat, version 2 of the API."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.cohere.chat_chunks import EVENT_TEXTS, ChatChunks
from spanhook.instrument.formats.cohere.describing import NO_USAGE, CohereFormat, noted_answer, used_in
from spanhook.instrument.formats.cohere.messages import (
    from_message,
    rewrite,
    system_of,
    to_message,
    tool_name,
    with_system,
)
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Payload,
    fields_of,
    finished,
    list_of,
    messages_in,
    one_prompt,
    text_in,
    text_of,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage


class Chat(CohereFormat):
    """Chat."""

    system_in_messages = True
    beside = ("documents",)

    # ------------------------------------------------------------------------------------------ requests

    def request(self, body: Fields) -> Request:
        messages = [to_message(message) for message in list_of(body.get("messages"))]
        tools = list_of(body.get("tools"))
        return Request(
            messages=messages,
            system=system_of(messages),
            tools=[tool_name(tool) for tool in tools],
            tool_definitions=tools,
            inputs=body.get("messages"),
            model=text_of(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        messages = list_of(body.get("messages"))
        return [text_in(to_message(messages[-1])["parts"]) or None if messages else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["messages"] = list(change.inputs)
        if change.messages is not None:
            body["messages"] = rewrite(list_of(body.get("messages")), one_prompt(change.messages))
        if change.system is not None:
            body["messages"] = with_system(list_of(body.get("messages")), change.system)
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes = noted_answer(told)
        reason = text_of(told.get("finish_reason"))
        if reason:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (reason,)
        return attributes, used_in(told.get("usage"))

    def output(self, told: Fields) -> list[Message]:
        said = told.get("message")
        return [finished(to_message(said), told.get("finish_reason"))] if said else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ChatChunks(body, construct, self.response)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002
        return EVENT_TEXTS

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """A chat's response on the wire, for text, a response, or a message in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "message" in value and "parts" not in value:
            made: Payload = dict(value)
        else:
            messages = messages_in(value, "a chat's answer is text, a response or a message", key="role")
            wire: Payload = from_message(messages[0]) if messages else {"role": "assistant", "content": ""}
            content = wire.get("content")
            if isinstance(content, str):
                wire["content"] = [{"type": "text", "text": content}]
            made = {"message": wire, "finish_reason": "TOOL_CALL" if wire.get("tool_calls") else "COMPLETE"}
        return {"id": "spanhook", "usage": NO_USAGE, **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """A chat's response as the events of a stream."""

        def event(kind: str, **data: Any) -> Event:
            return kind, {"type": kind, **data}

        said = payload["message"]
        head = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        yield event("message-start", id=payload["id"], delta={"message": head})
        if said.get("tool_plan"):
            yield event("tool-plan-delta", delta={"message": {"tool_plan": said["tool_plan"]}})
        content = said.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
        for index, part in enumerate(parts):
            field = "thinking" if part.get("type") == "thinking" else "text"
            empty = {"type": part.get("type"), field: ""}
            yield event("content-start", index=index, delta={"message": {"content": empty}})
            yield event("content-delta", index=index, delta={"message": {"content": {field: part.get(field)}}})
            yield event("content-end", index=index)
        for index, call in enumerate(list_of(said.get("tool_calls"))):
            function = fields_of(call.get("function"))
            started = {**call, "function": {**function, "arguments": ""}}
            more = {"function": {"arguments": function.get("arguments")}}
            yield event("tool-call-start", index=index, delta={"message": {"tool_calls": started}})
            yield event("tool-call-delta", index=index, delta={"message": {"tool_calls": more}})
            yield event("tool-call-end", index=index)
        ending = {"finish_reason": payload.get("finish_reason"), "usage": payload.get("usage")}
        yield event("message-end", delta=ending)
