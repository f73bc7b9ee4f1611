"""Generation of text from a prompt, which chat has replaced."""

from collections.abc import Iterator
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.cohere.describing import NO_USAGE, CohereFormat, noted_answer, used_in
from spanhook.instrument.formats.cohere.line_chunks import LINE_TEXTS, LineChunks
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


class Generate(CohereFormat):
    """Generation."""

    operation = "text_completion"
    takes = frozenset(("messages", "inputs", "model"))

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        choices = body.get("num_generations")
        if isinstance(choices, int) and choices != 1:
            attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = choices

    def request(self, body: Fields) -> Request:
        prompt = text_of(body.get("prompt"))
        return Request(messages=[_said("user", prompt)], inputs=prompt, model=text_of(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        return [text_of(body.get("prompt")) or None]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["prompt"] = change.inputs
        if change.messages is not None:
            body["prompt"] = "".join(said_in(message) for message in one_prompt(change.messages))
        if change.model is not None:
            body["model"] = change.model

    # ------------------------------------------------------------------------------------------ results

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes = noted_answer(told)
        made = [text_of(fields_of(one).get("finish_reason")) for one in list_of(told.get("generations"))]
        reasons = tuple(filter(None, made)) or tuple(filter(None, (text_of(told.get("finish_reason")),)))
        if reasons:
            attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = reasons
        return attributes, used_in(told.get("meta"))

    def output(self, told: Fields) -> list[Message]:
        made = [fields_of(one) for one in list_of(told.get("generations"))]
        if not made and "text" in told:
            made = [told]
        return [finished(_said("assistant", text_of(one.get("text"))), one.get("finish_reason")) for one in made]

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return LineChunks(body, construct, self.response)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002
        return LINE_TEXTS

    # ------------------------------------------------------------------------------------------ answers

    def payload(self, body: Fields, value: Any) -> Payload:
        """A generation on the wire, for text, a response, or messages in role/parts form.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "generations" in value:
            made: Payload = dict(value)
        else:
            messages = messages_in(value, "an answer is text, a Generation or messages")
            texts = [said_in(message) for message in messages]
            made = {"generations": [{"id": "spanhook", "text": text} for text in texts]}
        return {"id": "spanhook", "prompt": body.get("prompt"), "meta": NO_USAGE, **made}

    def events(self, body: Fields, payload: Payload) -> Iterator[Event]:  # noqa: ARG002
        """A generation as the lines of a stream."""
        for index, one in enumerate(payload["generations"]):
            yield "", {"event_type": "text-generation", "text": one.get("text"), "index": index, "is_finished": False}
        yield "", {"event_type": "stream-end", "is_finished": True, "finish_reason": "COMPLETE", "response": payload}


def _said(role: str, text: str) -> Message:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def said_in(message: Any) -> str:
    """The text of a message in role/parts form, or of text."""
    if isinstance(message, str):
        return message
    return text_in(message["parts"]) if "parts" in message else text_of(message.get("content"))
