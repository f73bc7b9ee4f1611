"""Embeddings: requests, responses, answers."""

import base64
import struct
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.openai.describing import WHOSE, OpenAIFormat
from spanhook.instrument.formats.openai.reading import CHAT_USAGE, usage_of
from spanhook.instrument.wire import Fields, Payload
from spanhook.model import Attributes, Carried, Change, Request, Usage, exact_text


class Embeddings(OpenAIFormat):
    """Embeddings."""

    kind = "embeddings.create"
    operation = "embeddings"
    content = WHOSE | {"input"}
    takes = frozenset(("inputs", "model"))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        super().describe(attributes, body)
        dimensions = body.get("dimensions")
        if isinstance(dimensions, int):
            attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimensions
        encoding = body.get("encoding_format")
        if isinstance(encoding, str):
            attributes[semconv.GEN_AI_REQUEST_ENCODING_FORMATS] = (encoding,)

    def request(self, body: Fields) -> Request:
        return Request(inputs=body.get("input"), model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        """The texts; nothing for inputs in tokens, because clients split long texts over several requests."""
        given = body.get("input")
        texts = given if isinstance(given, list) else [given]
        return [text for text in texts if isinstance(text, str)]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            body["input"] = change.inputs
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        attributes = self.noted(told)
        attributes.pop(semconv.GEN_AI_RESPONSE_ID, None)  # which the conventions do not have for embeddings
        return attributes, usage_of(told.get("usage"), CHAT_USAGE)

    def payload(self, body: Fields, value: Any) -> Payload:
        """Embeddings on the wire, for one vector, several, or a complete response.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict) and "data" in value:
            made: Payload = value
        elif isinstance(value, list) and value:
            vectors = value if isinstance(value[0], list | tuple) else [value]
            made = {"data": [{"embedding": list(vector)} for vector in vectors]}
        else:
            kind = type(value).__name__
            raise TypeError(f"an answer to embeddings is a CreateEmbeddingResponse or vectors, not {kind}")
        data = [
            {"object": "embedding", "index": index, **one, "embedding": _encoded(one["embedding"], body)}
            for index, one in enumerate(made["data"])
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "model": exact_text(body.get("model")), "usage": usage, **made, "data": data}


def _encoded(vector: Any, body: Fields) -> Any:
    """A vector in the requested encoding; by default, the SDK requests base64."""
    if isinstance(vector, str) or body.get("encoding_format") != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
