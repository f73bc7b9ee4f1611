"""Decisions: a model answers questions about an input."""

import json
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.interactions import Interactions
from spanhook.instrument.wire import Construct, Fields, Format, Payload, fields_of
from spanhook.model import Attributes, Chunks, Message


class Decisions(Interactions):
    """Decisions. Their input is that of interactions, and so is their usage."""

    takes = frozenset(("messages", "inputs", "model"))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json"

    def output(self, told: Fields) -> list[Message]:
        """One message with a part for each question: the answer as JSON."""
        answers = fields_of(told.get("answers"))
        parts = [{"type": "text", "content": json.dumps({name: answer})} for name, answer in answers.items()]
        return [{"role": "assistant", "parts": parts}] if parts else []

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return Format.chunks(self, body, construct)

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """Decisions on the wire, for their JSON.

        Raises:
            TypeError: It is something else.
        """
        if not isinstance(value, dict) or "answers" not in value:
            raise TypeError(f"an answer to decisions is a CreateDecisionResponse, not {type(value).__name__}")
        return value
