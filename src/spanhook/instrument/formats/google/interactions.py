"""Interactions with a model, or with an agent that Google runs."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.configuration import describe_generation
from spanhook.instrument.formats.google.errors import error_of
from spanhook.instrument.formats.google.interaction_events import EventTexts, InteractionChunks, events_of
from spanhook.instrument.formats.google.steps import items_in, outputs_in, texts_in, to_message, write_part, written
from spanhook.instrument.wire import (
    ChunkLike,
    Construct,
    Event,
    Fields,
    Format,
    Payload,
    bounded,
    fields_of,
    finished,
    list_of,
    messages_in,
    noted,
    one_prompt,
    text_of,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Texts, Usage, exact_text, in_pieces

_APART = {"thought": ("total_thought_tokens", "total_reasoning_tokens"), "tool use": ("total_tool_use_tokens",)}


class Interactions(Format):
    """Interactions.

    Args:
        operation: Their ``gen_ai.operation.name``: those with an agent differ from those with a model.
        steps: Answers have steps; in older versions, they have outputs.
    """

    last = "[DONE]"

    def __init__(self, operation: str = "generate_content", *, steps: bool = True) -> None:
        self._operation, self._steps = operation, steps
        self.named_by = semconv.GEN_AI_AGENT_NAME if operation == "invoke_agent" else ""

    # ------------------------------------------------------------------------------------------ requests

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = self._operation
        agent = body.get("agent")
        if isinstance(agent, str) and agent:
            attributes[semconv.GEN_AI_AGENT_NAME] = agent
        previous = body.get("previous_interaction_id")
        if isinstance(previous, str) and previous:
            attributes[semconv.GEN_AI_REQUEST_PREVIOUS_RESPONSE_ID] = previous
        describe_generation(attributes, body.get("generation_config"))
        asked = _output_type(body)
        if asked:
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = asked

    def request(self, body: Fields) -> Request:
        tools = list_of(body.get("tools"))
        return Request(
            messages=[to_message(item) for item in items_in(body.get("input"))],
            system=text_of(body.get("system_instruction")),
            tools=[
                exact_text(fields_of(tool).get("name")) or exact_text(fields_of(tool).get("type")) for tool in tools
            ],
            tool_definitions=tools,
            inputs=body.get("input"),
            model=exact_text(body.get("model")),
        )

    def carries(self, body: Fields) -> Carried:
        items = items_in(body.get("input"))
        return [in_pieces(texts_in(items[-1])) if items else None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["input"] = change.inputs
        if change.messages is not None:
            body["input"] = written(body.get("input"), one_prompt(change.messages))
        if change.system is not None:
            body["system_instruction"] = change.system
        if change.model is not None:
            if "agent" in body:
                raise ValueError("an agent is asked, which has its own model; model= would have no effect")
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return super().message(wire) if isinstance(wire, str) else to_message(wire)

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return interaction_response(told)

    def output(self, told: Fields) -> list[Message]:
        return [finished(message, told.get("status")) for message in outputs_in(told)]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return InteractionChunks(body, construct, interaction_response, steps=self._steps)

    def texts(self, chunk_like: ChunkLike) -> Texts:
        return EventTexts(chunk_like)

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """An interaction on the wire, for text, a complete one, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        name = "steps" if self._steps else "outputs"
        if isinstance(value, dict) and name in value:
            made: Payload = value
        else:
            messages = messages_in(value, "an answer is text, an Interaction or messages", key="role")
            made = {name: [item for message in messages for item in self._items(message)]}
        calls = any(fields_of(one).get("type") == "function_call" for one in list_of(made[name]))
        whom = {name: body[name] for name in ("model", "agent") if body.get(name)}
        usage = {"total_input_tokens": 0, "total_output_tokens": 0, "total_tokens": 0}
        status = "requires_action" if calls else "completed"
        return {"id": "spanhook", "object": "interaction", "status": status, **whom, "usage": usage, **made}

    def _items(self, message: Message) -> Iterator[Payload]:
        parts = [write_part(part, {}) for part in message["parts"] if part.get("type") != "reasoning"]
        if not self._steps:
            yield from parts
            return
        spoken = [part for part in parts if part.get("type") in ("text", "image", "audio", "video", "document")]
        if spoken:
            yield {"type": "model_output", "content": spoken}
        yield from (part for part in parts if part not in spoken)

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        return events_of(payload, steps=self._steps)

    def error(self, status: int, reason: str) -> Payload:
        return error_of(status, reason)


def interaction_response(told: Fields) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of an interaction; its status is why it has stopped."""
    attributes = noted(told, (("id", semconv.GEN_AI_RESPONSE_ID), ("model", semconv.GEN_AI_RESPONSE_MODEL)))
    status = text_of(told.get("status"))
    if status:
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = (status,)
    return attributes, _usage_of(told.get("usage"))


def _usage_of(reported: Any) -> Usage | None:
    """Usage: thoughts, and what tools add to the prompt, are counted apart, unless the total says otherwise."""
    told = fields_of(reported)
    if not told:
        return None
    used = Usage()
    used.input_tokens = used.count(told.get("total_input_tokens"), "input_tokens")
    used.output_tokens = used.count(told.get("total_output_tokens"), "output_tokens")
    used.cache_read_tokens = used.count(told.get("total_cached_tokens"), "cache_read_tokens")
    thoughts, added = (sum(used.count(told.get(name), kind) for name in names) for kind, names in _APART.items())
    used.reasoning_tokens = thoughts
    rest = thoughts + added
    total = told.get("total_tokens")
    if type(total) is int and rest:
        rest = min(rest, max(0, total - used.input_tokens - used.output_tokens))
    used.output_tokens += min(thoughts, rest)
    used.input_tokens += rest - min(thoughts, rest)
    return bounded(used)


def _output_type(body: Fields) -> str:
    """The type of output that is asked for."""
    modalities = {str(one).lower() for one in list_of(body.get("response_modalities"))} - {"text"}
    if len(modalities) == 1:
        kind = modalities.pop()
        return "speech" if kind == "audio" else kind
    asked = fields_of(body.get("response_format"))
    is_json = body.get("response_mime_type") == "application/json" or asked.get("mime_type") == "application/json"
    return "json" if is_json or "schema" in asked or asked.get("type") in ("object", "array") else ""
