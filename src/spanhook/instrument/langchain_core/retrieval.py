"""Retrievers, and embeddings of every concrete class."""

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.langchain_core.announcing import RETRIEVER_INVOKE
from spanhook.instrument.langchain_core.model import PROVIDERS, model_of, note_server
from spanhook.instrument.layers import LANGCHAIN_EMBEDDINGS
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Message,
    Nesting,
    Reading,
    Request,
    first,
    with_first,
)

_SOURCES = ("knowledge_base_id", "data_store_id", "index_id", "index_name", "collection_name")
"""The retriever fields with the provider's name for the searched data source."""
_MOST = ("top_k", "k")
"""The retriever fields with the number of documents to find, unless ``search_kwargs`` says so."""
_PROVIDERS = {
    **PROVIDERS,
    "azureopenai": "azure.ai.openai",
    "googlegenerativeai": "gcp.gemini",
    "vertexai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
}
"""Providers by the names of embeddings classes."""


def retrieval_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.RETRIEVER_NAME: instance.get_name()}
    for name in _SOURCES:
        source = instance.__dict__.get(name)
        if isinstance(source, str) and source:
            attributes[semconv.GEN_AI_DATA_SOURCE_ID] = source
            break
    most = _most(instance.__dict__)
    if most is not None:
        attributes[semconv.GEN_AI_RETRIEVAL_TOP_K] = most
    return attributes


def _most(fields: Mapping[str, Any]) -> int | None:
    """How many documents a retriever should return, if it says so."""
    search = fields.get("search_kwargs")
    places = (search.get("k") if isinstance(search, Mapping) else None, *(fields.get(name) for name in _MOST))
    return next((one for one in places if type(one) is int), None)


def retrieval_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=first(args, kwargs, "input"))


def retrieval_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return with_first(args, kwargs, "input", change.inputs)


def retrieval_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> list[Document]:
    """The documents of an answer, which may be documents or texts."""
    return [one if isinstance(one, Document) else Document(page_content=str(one)) for one in value]


def retrieval_output(result: Any) -> list[Message]:
    parts = [{"type": "text", "content": document.page_content} for document in result]
    return [{"role": "tool", "parts": parts}]


def embeddings_start(instance: Any, _args: Args, kwargs: Kwargs) -> Attributes:
    name = type(instance).__name__.removesuffix("Embeddings").lower()
    attributes: Attributes = {semconv.GEN_AI_PROVIDER_NAME: _PROVIDERS.get(name, name)}
    model = model_of(instance, kwargs)
    if model:
        attributes[semconv.GEN_AI_REQUEST_MODEL] = model
    dimensions = instance.__dict__.get("dimensions")
    if isinstance(dimensions, int):
        attributes[semconv.GEN_AI_EMBEDDINGS_DIMENSION_COUNT] = dimensions
    note_server(attributes, instance)
    return attributes


def documents_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=first(args, kwargs, "texts"), model=model_of(instance, kwargs))


def query_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=[first(args, kwargs, "text")], model=model_of(instance, kwargs))


def documents_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return with_first(args, kwargs, "texts", change.inputs)


def query_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    text = change.inputs
    if isinstance(text, list):
        (text,) = text  # as in `op.request.inputs`
    return with_first(args, kwargs, "text", text)


def documents_carry(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return list(first(args, kwargs, "texts"))


def query_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return [first(args, kwargs, "text")]


RETRIEVAL = Adapter(
    kind="retrieval.query",
    layer="langchain.retriever",
    span_kind=SpanKind.CLIENT,
    start=retrieval_start,
    reading=Reading(request=retrieval_request, output=retrieval_output),
    editing=Editing(
        rewrite=retrieval_rewrite, takes=frozenset(("inputs",)), answer=retrieval_answer, announce=RETRIEVER_INVOKE
    ),
)
DOCUMENTS = Adapter(
    kind="embeddings.create",
    layer=LANGCHAIN_EMBEDDINGS,
    span_kind=SpanKind.CLIENT,
    start=embeddings_start,
    reading=Reading(request=documents_request),
    editing=Editing(rewrite=documents_rewrite, takes=frozenset(("inputs",))),
    nesting=Nesting(
        role="framework",
        carries=documents_carry,
        transport_of=frozenset((LANGCHAIN_EMBEDDINGS,)),  # `embed_query` and the async methods call the other methods
    ),
)
QUERY = Adapter(
    kind="embeddings.create",
    layer=LANGCHAIN_EMBEDDINGS,
    span_kind=SpanKind.CLIENT,
    start=embeddings_start,
    reading=Reading(request=query_request),
    editing=Editing(rewrite=query_rewrite, takes=frozenset(("inputs",))),
    nesting=Nesting(role="framework", carries=query_carries, transport_of=frozenset((LANGCHAIN_EMBEDDINGS,))),
)
