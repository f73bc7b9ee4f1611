"""Decisions: a model answers questions about an input with classes and scores. Requests, responses, answers."""

import json
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.describing import OpenAIFormat
from spanhook.instrument.formats.openai.items import rewrite, to_message, to_messages
from spanhook.instrument.formats.openai.reading import RESPONSES_USAGE, usage_of
from spanhook.instrument.wire import Fields, Payload, is_model, one_prompt, plain
from spanhook.model import Attributes, Change, Message, Request, Usage, exact_text


class Decisions(OpenAIFormat):
    """Decisions."""

    api = "decisions"
    takes = frozenset(("messages", "inputs", "model"))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"

    def request(self, body: Fields) -> Request:
        given = body.get("input")
        return Request(messages=to_messages(given), inputs=given, model=exact_text(body.get("model")))

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["input"] = change.inputs
        if change.messages is not None:
            body["input"] = rewrite(body.get("input"), one_prompt(change.messages))
        if change.model is not None:
            body["model"] = change.model

    def message(self, wire: Any) -> Message:
        return to_message(wire)

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return self.noted(told), usage_of(told.get("usage"), RESPONSES_USAGE)

    def output(self, told: Fields) -> list[Message]:
        """One message with a part for each question: the answer as JSON."""
        answers = told.get("answers")
        if not answers:
            return []
        parts = [{"type": "text", "content": json.dumps(_plain(answer))} for answer in answers]
        return [{"role": "assistant", "parts": parts}]

    def payload(self, body: Fields, value: Any) -> Payload:
        """A decision on the wire, for a complete decision or its answers.

        Raises:
            TypeError: It is neither.
        """
        if isinstance(value, list) and all(isinstance(_plain(one), dict) for one in value):
            value = {"answers": [_plain(one) for one in value]}
        if not isinstance(value, dict) or "answers" not in value:
            raise TypeError(f"an answer to decisions is a Decision or a list of answers, not {type(value).__name__}")
        usage = {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 0,
        }
        return {"model": exact_text(body.get("model")), "usage": usage, **value}


def _plain(answer: Any) -> Any:
    return plain(answer) if is_model(answer) else answer
