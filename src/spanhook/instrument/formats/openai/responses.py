"""The Responses API: requests, responses, answers."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.describing import WHOSE, OpenAIFormat, output_type
from spanhook.instrument.formats.openai.items import (
    PARTS,
    from_message,
    last_text,
    output_part,
    rewrite,
    to_message,
    to_messages,
)
from spanhook.instrument.formats.openai.messages import tool_name
from spanhook.instrument.formats.openai.response_events import response_events
from spanhook.instrument.formats.openai.responses_chunks import ResponsesChunks, finish_reason, whole_response
from spanhook.instrument.formats.openai.texts import RESPONSE_TEXTS
from spanhook.instrument.surroundings import seconds
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
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text


class Responses(OpenAIFormat):
    """Responses.

    Args:
        compact: They are only shortened conversations.
        counts: Only their input is counted.
    """

    api = "responses"
    parses = True
    content = WHOSE | {"input", "instructions", "tools"}
    turns = "input"
    beside = ("prompt.variables",)

    def __init__(self, *, itself: bool = False, compact: bool = False, counts: bool = False) -> None:
        super().__init__(itself=itself)
        self._object = "response.compaction" if compact else "response"
        if counts:
            self.operation, self.api = "count_tokens", "responses.input_tokens"

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        text = body.get("text")
        asked = output_type(text.get("format")) if isinstance(text, dict) else ""
        if asked:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked
        conversation = body.get("conversation")
        if isinstance(conversation, dict):
            conversation = conversation.get("id")
        if isinstance(conversation, str):
            attributes[semconv.GEN_AI_CONVERSATION_ID] = conversation
        previous = body.get("previous_response_id")
        if isinstance(previous, str):
            attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = previous
        template = fields_of(body.get("prompt"))  # one that OpenAI keeps
        for name, key in (("id", semconv.GEN_AI_PROMPT_NAME), ("version", semconv.GEN_AI_PROMPT_VERSION)):
            if isinstance(template.get(name), str):
                attributes[key] = template[name]

    def is_result(self, turn: Any) -> bool:
        return fields_of(turn).get("type") in ("function_call_output", "custom_tool_call_output")

    def calls_before(self, results: int) -> int:
        return results

    def request(self, body: Fields) -> Request:
        return Request(
            messages=to_messages(body.get("input")),
            system=str(body.get("instructions") or ""),
            tools=[tool_name(tool) for tool in body.get("tools") or ()],
            tool_definitions=body.get("tools") or (),
            inputs=body.get("input"),
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        return [last_text(body.get("input"))]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["input"] = change.inputs
        if change.messages is not None:
            body["input"] = rewrite(body.get("input"), one_prompt(change.messages))
        if change.system is not None:
            body["instructions"] = change.system
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return whole_response(told, itself=self.itself)

    def output(self, told: Fields) -> list[Message]:
        return [finished(output_message(told.get("output")), finish_reason(told))] if told else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return ResponsesChunks(body, construct, itself=self.itself)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002
        return RESPONSE_TEXTS

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A response on the wire.

        Args:
            body: The request that it answers.
            value: Text, a response, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "output" in value and "call_id" not in value:
            made: Payload = {**value, "output": [_unparsed(item) for item in value["output"]]}
        else:
            messages = messages_in(value, "a response's answer is text, a Response or messages")
            items = [item for message in messages for item in from_message(message)]
            made = {"output": [_output_item(index, item) for index, item in enumerate(items)]}
        return {
            "id": "resp_spanhook",
            "object": self._object,
            "created_at": seconds(),
            "model": exact_text(body.get("model")),
            "status": "completed",
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            **made,
        }

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        return response_events(payload)


def output_message(output: Any) -> Message:
    """The output items of a response, which are one message."""
    parts: list[dict[str, Any]] = []
    for item in list_of(output):
        said = fields_of(item)
        if said.get("type") == "message":
            parts.extend(PARTS.read(said.get("content")))
        else:
            parts.append(output_part(item))
    return {"role": "assistant", "parts": parts}


def _output_item(index: int, item: Payload) -> Payload:
    """An input item as the model would have written it."""
    if "role" not in item:
        return {"id": f"item_spanhook_{index}", "status": "completed", **item}
    content = item.get("content") or ""
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content}]
    content = [{"annotations": [], **part} if part.get("type") == "output_text" else part for part in content]
    return {"id": f"msg_spanhook_{index}", "type": "message", "status": "completed", **item, "content": content}


def _unparsed(item: Payload) -> Payload:
    """An item without what ``parse`` added to it; it will be parsed again."""
    made = {key: value for key, value in item.items() if key != "parsed_arguments"}
    if made.get("type") == "message":
        made["content"] = [{key: one for key, one in part.items() if key != "parsed"} for part in made["content"]]
    return made
