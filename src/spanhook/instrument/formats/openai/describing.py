"""What parameters common to all of OpenAI's APIs say, and the attributes that the conventions reserve for OpenAI."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.reading import noted_answer
from spanhook.instrument.wire import Fields, Format, Payload
from spanhook.model import Attributes

_OUTPUT_TYPES = {"text": "text", "json_object": "json", "json_schema": "json"}
_SERVER = 500
"""From this HTTP status on, errors are the server's."""


WHOSE = frozenset(("metadata", "prompt_cache_key", "safety_identifier", "user"))
"""Fields that differ from user to user and describe nothing."""


class OpenAIFormat(Format):
    """One of OpenAI's APIs.

    Args:
        itself: The server is OpenAI's own, or Azure's; only these get ``openai.`` attributes.

    Attributes:
        operation: Its ``gen_ai.operation.name``.
        api: Its ``openai.api.type``, if it has one.
    """

    operation = "chat"
    api = ""

    def __init__(self, *, itself: bool = False) -> None:
        self.itself = itself

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = self.operation
        choices = body.get("n")
        if isinstance(choices, int) and choices != 1:
            attributes[semconv.GEN_AI_REQUEST_CHOICE_COUNT] = choices
        reasoning = body.get("reasoning")
        level = body.get("reasoning_effort") or (reasoning.get("effort") if isinstance(reasoning, dict) else None)
        if isinstance(level, str):
            attributes[semconv.GEN_AI_REQUEST_REASONING_LEVEL] = level
        if self.itself:
            if self.api:
                attributes[semconv.OPENAI_API_TYPE] = self.api
            tier = body.get("service_tier")
            if isinstance(tier, str) and tier != "auto":
                attributes[semconv.OPENAI_REQUEST_SERVICE_TIER] = tier

    def error(self, status: int, reason: str) -> Payload:
        kind = "server_error" if status >= _SERVER else "invalid_request_error"
        return {"error": {"message": reason, "type": kind, "param": None, "code": "rejected"}}

    def noted(self, told: Fields) -> Attributes:
        """What every API reports about its answer."""
        return noted_answer(told, itself=self.itself)


def output_type(format: Any) -> str:
    """The conventions' output type for a ``response_format`` or ``text.format``; empty if none is asked for."""
    return _OUTPUT_TYPES.get(str(format.get("type")), "") if isinstance(format, dict) else ""
