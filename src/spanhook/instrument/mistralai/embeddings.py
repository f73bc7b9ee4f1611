"""Embeddings: OpenAI's, with sizes under Mistral's names."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai import Embeddings
from spanhook.instrument.mistralai.chat import NO_USAGE
from spanhook.instrument.wire import Fields, Payload
from spanhook.model import Attributes


class MistralEmbeddings(Embeddings):
    """Embeddings."""

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        dimension = body.get("output_dimension")
        if isinstance(dimension, int):
            attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimension

    def payload(self, body: Fields, value: Any) -> Payload:
        made = super().payload(body, value)
        return {"id": "embd-spanhook", **made, "usage": {**NO_USAGE, **made["usage"]}}
