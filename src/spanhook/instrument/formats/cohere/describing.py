"""What Cohere's APIs have in common: parameters, usage, errors."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.parameters import PARAMETERS, note_parameter
from spanhook.instrument.wire import Fields, Format, Payload, counted, fields_of, noted, usage_places
from spanhook.model import Attributes, Usage

_PARAMETERS = (("p", "top_p"), ("k", "top_k"))
"""Cohere's names, and the usual ones."""
_PLACES = usage_places(input_tokens="input_tokens", output_tokens="output_tokens")
NO_USAGE: Payload = {"tokens": {"input_tokens": 0, "output_tokens": 0}}


class CohereFormat(Format):
    """One of Cohere's APIs.

    Attributes:
        operation: Its ``gen_ai.operation.name``.
    """

    operation = "chat"

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = self.operation
        for name, usual in _PARAMETERS:
            value = body.get(name)
            if value is not None:
                note_parameter(attributes, *PARAMETERS[usual], value)
        shape = fields_of(body.get("response_format")).get("type")
        if shape in ("text", "json_object"):
            attributes[semconv.GEN_AI_OUTPUT_TYPE] = "json" if shape == "json_object" else "text"

    def error(self, status: int, reason: str) -> Payload:  # noqa: ARG002
        return {"message": reason}


def used_in(reported: Any) -> Usage | None:
    """Usage as reported: the tokens that the model read and wrote; those that are charged if there are no others."""
    told = fields_of(reported)
    tokens = told.get("tokens") or told.get("billed_units")
    if not {"input_tokens", "output_tokens"} & fields_of(tokens).keys():
        return None  # charged by something else than tokens
    used = counted(tokens, _PLACES)
    if used is not None:
        cached = used.count(told.get("cached_tokens"), "cache_read_tokens")
        used.cache_read_tokens = min(cached, used.input_tokens)
    return used


def noted_answer(told: Fields) -> Attributes:
    """The id of an answer."""
    names = ("id", "generation_id", "response_id")
    return noted(told, [(name, semconv.GEN_AI_RESPONSE_ID) for name in names])
