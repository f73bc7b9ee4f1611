"""Embeddings: requests, responses, answers."""

import base64
import struct
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.layers import OPENAI
from spanhook.instrument.openai.deployments import with_model
from spanhook.instrument.openai.describing import describe
from spanhook.instrument.openai.reading import CHAT_USAGE, note, usage_of
from spanhook.instrument.openai.sdk import SDK, result_of, stream_of
from spanhook.instrument.stainless import Api, NoChunks, Payload, body_of, fields_of, no_events, with_body
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Kwargs, Request, Usage


def embeddings_start(instance: Any, args: Args, kwargs: Kwargs) -> Attributes:
    body = body_of(args, kwargs)
    attributes = describe(instance, args, kwargs, body)
    attributes[semconv.GEN_AI_OPERATION_NAME] = "embeddings"
    dimensions = body.get("dimensions")
    if isinstance(dimensions, int):
        attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimensions
    encoding = body.get("encoding_format")
    if isinstance(encoding, str):
        attributes[semconv.GEN_AI_REQUEST_ENCODING_FORMATS] = (encoding,)
    return attributes


def embeddings_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    body = body_of(args, kwargs)
    return Request(inputs=body.get("input"), model=str(body.get("model") or ""))


def embeddings_rewrite(instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    body = dict(body_of(args, kwargs))
    if change.inputs is not None:
        body["input"] = change.inputs
    if change.model is not None:
        with_model(instance, args, kwargs, body, change.model)
    return with_body(args, kwargs, body)


def embeddings_carry(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    """The texts; nothing for inputs in tokens, because clients split long texts over several requests."""
    given = body_of(args, kwargs).get("input")
    texts = given if isinstance(given, list) else [given]
    return [text for text in texts if isinstance(text, str)]


def embeddings_response(result: Any) -> tuple[Attributes, Usage | None]:
    told = fields_of(result_of(result))
    attributes: Attributes = {}
    note(attributes, told)
    return attributes, usage_of(told.get("usage"), CHAT_USAGE)


def embeddings_payload(args: Args, kwargs: Kwargs, value: Any) -> Payload:
    """Embeddings on the wire, for one vector, several, or a complete response.

    Raises:
        TypeError: It is none of these.
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict(mode="json", warnings=False)
    body = body_of(args, kwargs)
    if isinstance(value, dict) and "data" in value:
        made: Payload = value
    elif isinstance(value, list) and value:
        vectors = value if isinstance(value[0], list | tuple) else [value]
        made = {"data": [{"embedding": list(vector)} for vector in vectors]}
    else:
        raise TypeError(f"an answer to embeddings is a CreateEmbeddingResponse or vectors, not {type(value).__name__}")
    data = [
        {"object": "embedding", "index": index, **one, "embedding": _encoded(one["embedding"], body)}
        for index, one in enumerate(made["data"])
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": str(body.get("model") or ""), "usage": usage, **made, "data": data}


def _encoded(vector: Any, body: Any) -> Any:
    """A vector in the requested encoding; by default, the SDK requests base64."""
    if isinstance(vector, str) or body.get("encoding_format") != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


_API = Api(sdk=SDK, payload=embeddings_payload, events=no_events, response=embeddings_response, chunks=NoChunks)

EMBEDDINGS = Adapter(
    kind="embeddings.create",
    layer=OPENAI,
    span_kind=SpanKind.CLIENT,
    start=embeddings_start,
    response=embeddings_response,
    request=embeddings_request,
    rewrite=embeddings_rewrite,
    takes=frozenset(("inputs", "model")),
    carries=embeddings_carry,
    answer=_API.answer,
    stream_of=stream_of,
    body=_API.body,
    opaque=True,
)
