"""Adds up the events of a model's stream, which are those of OpenAI's responses for every model."""

from typing import Any

from agents.items import ModelResponse
from agents.usage import Usage as AgentsUsage
from openai._models import construct_type
from openai.types.responses import Response

from spanhook import semconv
from spanhook.instrument.formats.openai import ResponsesChunks
from spanhook.instrument.openai_agents.reading import FAKE_ID
from spanhook.instrument.wire import fields_of
from spanhook.model import Args, Attributes, Kwargs, Usage, current_record


class ModelChunks(ResponsesChunks):
    """The events of one stream. What a client's stream inside it reports is read there."""

    __slots__ = ("mark",)

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        super().__init__({}, _constructed, itself=True)  # no other provider names such things here
        self.mark: Any = None

    def response(self) -> tuple[Attributes, Usage | None]:
        """End attributes and usage: only what a client's stream inside does not report itself."""
        attributes, used = super().response()
        if self.complete and attributes.get(semconv.GEN_AI_RESPONSE_ID) == FAKE_ID:  # made of another API's answer
            del attributes[semconv.GEN_AI_RESPONSE_ID]
            op = current_record()
            if op is not None and op.inner.transported:
                return {}, None
        self.mark = attributes.get(semconv.GEN_AI_RESPONSE_ID)
        is_told = self.complete and used is not None and used.total_tokens and not used.estimated
        return attributes, used if is_told else None

    def result(self) -> ModelResponse:
        """The stream as ``get_response`` would have returned it."""
        told = fields_of(super().result())
        identifier = told.get("id")
        return ModelResponse(
            output=list(told.get("output") or ()),
            usage=AgentsUsage(),
            response_id=identifier if identifier != FAKE_ID else None,
        )


def _constructed(value: Any) -> Any:
    return construct_type(type_=Response, value=value)
