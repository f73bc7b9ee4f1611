"""Embeddings, of both versions of the API."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.cohere.describing import CohereFormat, used_in
from spanhook.instrument.wire import Fields, Payload, list_of, text_of
from spanhook.model import Attributes, Carried, Change, Request, Usage

_FIELDS = ("texts", "inputs", "images")


class Embed(CohereFormat):
    """Embeddings.

    Args:
        by_type: They are always returned by their type, as in version 2.
    """

    kind = "embeddings.create"
    operation = "embeddings"
    takes = frozenset(("inputs", "model"))
    streams = False

    def __init__(self, *, by_type: bool) -> None:
        self._by_type = by_type

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        dimension = body.get("output_dimension")
        if isinstance(dimension, int):
            attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimension
        kinds = tuple(filter(None, map(text_of, list_of(body.get("embedding_types")))))
        if kinds:
            attributes[semconv.GEN_AI_REQUEST_ENCODING_FORMATS] = kinds

    def request(self, body: Fields) -> Request:
        return Request(inputs=body.get(_given(body)), model=text_of(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        return [text for text in list_of(body.get("texts")) if isinstance(text, str)]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body[_given(body)] = change.inputs
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        return {}, used_in(told.get("meta"))  # the conventions have no id of embeddings

    def payload(self, body: Fields, value: Any) -> Payload:
        """Embeddings on the wire, for one vector, several, or a complete response.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "embeddings" in value:
            made: Payload = dict(value)
        elif isinstance(value, list) and value:
            vectors = [list(one) for one in (value if isinstance(value[0], list | tuple) else [value])]
            kinds = [*list_of(body.get("embedding_types"))] or (["float"] if self._by_type else [])
            made = {"embeddings": {kinds[0]: vectors} if kinds else vectors}
        else:
            raise TypeError(f"an answer to embed is a response or vectors, not {type(value).__name__}")
        sort = "embeddings_by_type" if isinstance(made["embeddings"], dict) else "embeddings_floats"
        known: Payload = {"id": "spanhook", "response_type": sort, "texts": [*list_of(body.get("texts"))]}
        return {**known, **made}


def _given(body: Fields) -> str:
    """The field with what is embedded."""
    return next((name for name in _FIELDS if body.get(name)), "texts")
