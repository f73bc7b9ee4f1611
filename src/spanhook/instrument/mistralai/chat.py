"""What Mistral's chat completions have beyond OpenAI's: thinking in the content, usage of streams, agents by id."""

from collections.abc import Iterator
from typing import Any

from spanhook.instrument.formats.openai import Chat, completion_usage
from spanhook.instrument.mistralai.chunks import MistralChunks
from spanhook.instrument.mistralai.messages import on_the_wire, rewrite, to_message
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.wire import (
    Construct,
    Event,
    Fields,
    Payload,
    fields_of,
    finished,
    list_of,
    one_prompt,
    text_in,
)
from spanhook.model import Attributes, Carried, Change, Chunks, Message, Request, Usage

NO_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def used_in(told: Fields) -> Usage | None:
    """Usage as reported; cached tokens also where older models report them."""
    return _with_cached(completion_usage(told.get("usage")), told)


def _with_cached(used: Usage | None, told: Fields) -> Usage | None:
    if used is not None and not used.cache_read_tokens:
        cached = fields_of(told.get("usage")).get("num_cached_tokens")
        if type(cached) is int:
            used.cache_read_tokens = max(0, min(cached, used.input_tokens))
    return used


def described(attributes: Attributes, body: Fields) -> None:
    """Add what parameters with names of Mistral's own say."""
    seed = body.get("random_seed")
    if seed is not None:
        note_parameter(attributes, *PARAMETERS["seed"], seed)


class MistralChat(Chat):
    """Chat completions, of models and of agents. A stream always reports its usage, so it is not asked for."""

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        described(attributes, body)

    def request(self, body: Fields) -> Request:
        request = super().request(body)
        request.messages = [to_message(message) for message in list_of(body.get("messages"))]
        return request

    def carries(self, body: Fields) -> Carried:
        messages = list_of(body.get("messages"))
        parts = to_message(messages[-1])["parts"] if messages else ()
        return [text_in([part for part in parts if part.get("type") == "text"]) or None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.messages is not None:
            body["messages"] = rewrite(list_of(body.get("messages")), one_prompt(change.messages))
        super().rewrite(body, Change(inputs=change.inputs, system=change.system, model=change.model))

    def asking(self, body: Fields) -> Fields | None:  # noqa: ARG002
        return None

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes, used = super().response(told)
        return attributes, _with_cached(used, told)

    def output(self, told: Fields) -> list[Message]:
        said = [fields_of(choice) for choice in list_of(told.get("choices"))]
        return [finished(to_message(one.get("message")), one.get("finish_reason")) for one in said]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return MistralChunks(body, construct, used_in)

    def payload(self, body: Fields, value: Any) -> Payload:
        messages = [value] if isinstance(value, dict) and "parts" in value else value
        if isinstance(messages, list):
            messages = [on_the_wire(message) for message in messages]
        made: Payload = {"usage": NO_USAGE, **super().payload(body, messages)}
        for choice in made["choices"]:
            choice["message"].pop("refusal", None)  # which is OpenAI's
        return made

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:
        """A chat completion as the chunks of a stream, the last of which reports the usage."""
        events = list(super().events(body, payload))
        if events:
            name, last = events.pop()
            events.append((name, {**last, "usage": payload.get("usage") or NO_USAGE}))
        yield from events

    def error(self, status: int, reason: str) -> Payload:
        return {"object": "error", "message": reason, "type": "rejected", "param": None, "code": str(status)}
