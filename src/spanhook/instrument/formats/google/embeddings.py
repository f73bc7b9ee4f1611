"""Embeddings: of one content, of several in one request, and of texts that Vertex AI's older models embed."""

from collections.abc import Sequence
from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.google.errors import error_of
from spanhook.instrument.formats.google.parts import texts_in
from spanhook.instrument.formats.google.reading import field, usage_of
from spanhook.instrument.wire import Fields, Format, Payload, fields_of, list_of
from spanhook.model import Attributes, Carried, Change, Request, Usage, exact_text


class EmbedContent(Format):
    """Embeddings."""

    kind = "embeddings.create"
    takes = frozenset(("inputs", "model"))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "embeddings"
        first = next(iter(list_of(body.get("requests"))), {})
        for holder in (body, first, field(body, "embedContentConfig"), field(body, "parameters")):
            size = field(holder, "outputDimensionality")
            if type(size) is int:
                attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = size
                return

    def request(self, body: Fields) -> Request:
        return Request(inputs=_inputs_in(body), model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        given = _inputs_in(body)
        if "instances" in body:
            return [one for one in given if isinstance(one, str)]
        return ["".join(texts_in(content)) for content in given]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            _put(body, list(change.inputs))
        if change.model is not None:
            body["model"] = change.model
            requests = list_of(body.get("requests"))
            if requests:  # each names the model again
                body["requests"] = [{**fields_of(one), "model": f"models/{change.model}"} for one in requests]

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        used = usage_of(field(told, "usageMetadata"))
        counts = [
            field(field(field(one, "embeddings"), "statistics"), "token_count")
            for one in list_of(told.get("predictions"))
        ]
        if used is None and any(count is not None for count in counts):
            used = Usage()
            used.input_tokens = sum(used.count(count, "input_tokens") for count in counts)
        return {}, used

    def payload(self, body: Fields, value: Any) -> Payload:
        """Embeddings on the wire, for one vector, several, or a complete response.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict):
            if "predictions" in value:
                return value
            given = [value["embedding"]] if value.get("embedding") else list_of(value.get("embeddings"))
            vectors: list[Any] = [list(list_of(field(one, "values"))) for one in given]
        elif isinstance(value, list) and value:
            vectors = value if isinstance(value[0], list | tuple) else [value]
        else:
            raise TypeError(f"an answer is an EmbedContentResponse or vectors, not {type(value).__name__}")
        made = [{"values": list(vector)} for vector in vectors]
        if "instances" in body:
            return {"predictions": [{"embeddings": one} for one in made]}
        return {"embeddings": made} if "requests" in body else {"embedding": made[0]}

    def error(self, status: int, reason: str) -> Payload:
        return error_of(status, reason)


def _inputs_in(body: Fields) -> list[Any]:
    """The contents; for the older models, texts."""
    if "requests" in body:
        return [field(one, "content") for one in list_of(body["requests"])]
    if "instances" in body:
        return [field(one, "content") for one in list_of(body["instances"])]
    return [body["content"]] if "content" in body else []


def _put(body: Payload, inputs: Sequence[Any]) -> None:
    """Embed other contents, or texts.

    Raises:
        ValueError: The form takes one content, and there are several.
    """
    if "instances" in body:
        body["instances"] = _with_contents(list_of(body["instances"]), inputs)
    elif "requests" in body:
        body["requests"] = _with_contents(list_of(body["requests"]), inputs)
    elif len(inputs) == 1:
        body["content"] = inputs[0]
    else:
        raise ValueError(f"the request embeds one content; inputs= has {len(inputs)}")


def _with_contents(before: Sequence[Any], inputs: Sequence[Any]) -> list[Payload]:
    """Entries with other contents; what the others are embedded with is that of the first one."""
    likes = [*before, *list(before[:1] or [{}]) * len(inputs)]
    return [{**fields_of(like), "content": one} for like, one in zip(likes, inputs, strict=False)]
