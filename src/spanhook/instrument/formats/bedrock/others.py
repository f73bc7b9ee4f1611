"""Bodies of embedding models, and those of models that nothing is known of."""

from typing import Any

from spanhook import semconv
from spanhook.instrument.formats.bedrock.describing import note_guardrail
from spanhook.instrument.wire import ChunkLike, Construct, Event, Fields, Format, Payload, fields_of, list_of
from spanhook.model import Attributes, Carried, Change, Chunks, PlainTexts, Request, Texts, Usage, exact_text


class BodyEmbeddings(Format):
    """Embeddings: Titan's ``inputText``, Cohere's ``texts``."""

    kind = "embeddings.create"
    takes = frozenset(("inputs", "model"))
    streams = False

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "embeddings"
        dimensions = body.get("dimensions") or body.get("output_dimension")
        if isinstance(dimensions, int):
            attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimensions

    def request(self, body: Fields) -> Request:
        return Request(inputs=body.get(_place(body)), model=exact_text(body.get("model")))

    def carries(self, body: Fields) -> Carried:
        given = body.get(_place(body))
        return [text for text in (given if isinstance(given, list) else [given]) if isinstance(text, str)]

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            name = _place(body)
            body[name] = [change.inputs] if name == "texts" and isinstance(change.inputs, str) else change.inputs
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:
        count = told.get("inputTextTokenCount")
        if count is None:
            return {}, None
        used = Usage()
        used.input_tokens = used.count(count, "input_tokens")
        return {}, used

    def payload(self, body: Fields, value: Any) -> Payload:
        """Embeddings on the wire, for one vector, several, or a complete response.

        Raises:
            TypeError: It is none of these.
        """
        if isinstance(value, dict):
            return value
        if not isinstance(value, list) or not value:
            kind = type(value).__name__
            raise TypeError(f"an answer to embeddings is a response of the model or vectors, not {kind}")
        vectors = value if isinstance(value[0], list | tuple) else [value]
        if _place(body) == "texts":
            return {"embeddings": [list(one) for one in vectors], "texts": body["texts"]}
        return {"embedding": list(vectors[0]), "inputTextTokenCount": 0}


def _place(body: Fields) -> str:
    return "texts" if "texts" in body else "inputText"


class AnyBody(Format):
    """A body in a form that is not known: gated, and given to hooks as it is."""

    takes = frozenset(("inputs", "model"))

    def describe(self, attributes: Attributes, body: Fields) -> None:
        attributes[semconv.GEN_AI_OPERATION_NAME] = "generate_content"
        note_guardrail(attributes, body.get("guardrailIdentifier"))

    def request(self, body: Fields) -> Request:
        inputs = {name: value for name, value in body.items() if name != "model"}
        return Request(inputs=inputs, model=exact_text(body.get("model")))

    def rewrite(self, body: Payload, change: Change) -> None:
        if change.inputs is not None:
            model = body.get("model")
            body.clear()
            body.update(change.inputs, model=model)
        if change.model is not None:
            body["model"] = change.model

    def response(self, told: Fields) -> tuple[Attributes, Usage | None]:  # noqa: ARG002
        return {}, None

    def chunks(self, body: Fields, construct: Construct) -> Chunks:
        return _Kept(body, construct)

    def texts(self, chunk_like: ChunkLike) -> Texts:  # noqa: ARG002 - chunks are JSON
        return PlainTexts()

    def payload(self, body: Fields, value: Any) -> Payload:  # noqa: ARG002
        """The answer as given.

        Raises:
            TypeError: It is no JSON object.
        """
        if not isinstance(value, dict):
            raise TypeError(f"an answer in an unknown form must be the model's own JSON, not {type(value).__name__}")
        return value

    def events(self, body: Fields, payload: Payload) -> list[Event]:  # noqa: ARG002
        return [("", dict(fields_of(one))) for one in list_of(payload.get("chunks"))] or [("", payload)]


class _Kept:
    """Keeps chunks, of which nothing is known, if ``keep``."""

    def __init__(self, body: Fields, construct: Construct) -> None:  # noqa: ARG002
        self.keep = self.complete = False
        self._construct = construct
        self._chunks: list[Any] = []

    def add(self, chunk: Any) -> bool:
        if self.keep:
            self._chunks.append(chunk)
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        return self._construct({"chunks": list(self._chunks)})
