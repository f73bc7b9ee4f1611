"""Adds up the events of a model's stream, which are those of OpenAI's responses for every model."""

from typing import Any

from agents.items import ModelResponse
from agents.usage import Usage as AgentsUsage

from spanhook import semconv
from spanhook.instrument.openai.responses import responses_response
from spanhook.instrument.openai.responses_chunks import ResponsesChunks
from spanhook.instrument.openai_agents.reading import FAKE_ID
from spanhook.instrument.stainless import fields_of
from spanhook.model import Args, Attributes, Kwargs, Usage, current_record


class ModelChunks(ResponsesChunks):
    """The events of one stream. What a client's stream inside it reports is read there."""

    __slots__ = ("mark",)

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        super().__init__(_told, _unknown)
        self.mark: Any = None

    def response(self) -> tuple[Attributes, Usage | None]:
        attributes, used = super().response()
        self.mark = attributes.get(semconv.GEN_AI_RESPONSE_ID)
        return attributes, used

    def result(self) -> ModelResponse:
        """The stream as ``get_response`` would have returned it."""
        told = fields_of(super().result())
        identifier = told.get("id")
        return ModelResponse(
            output=list(told.get("output") or ()),
            usage=AgentsUsage(),
            response_id=identifier if identifier != FAKE_ID else None,
        )


def _told(response: Any) -> tuple[Attributes, Usage | None]:
    """End attributes and usage of a complete response; only what a client's stream inside does not report itself."""
    attributes, used = responses_response(response)
    if attributes.get(semconv.GEN_AI_RESPONSE_ID) == FAKE_ID:  # made of another API's answer
        del attributes[semconv.GEN_AI_RESPONSE_ID]
        op = current_record()
        if op is not None and op.transported:
            return {}, None
    return attributes, used if used is not None and used.total_tokens else None


def _unknown(_characters: int) -> Usage | None:
    return None
