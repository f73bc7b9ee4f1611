"""Embeddings: ``embed`` of every ``EmbeddingModel`` that does not pass it on to another."""

from collections.abc import Sequence
from typing import Any

from opentelemetry.trace import SpanKind
from pydantic_ai.embeddings import EmbeddingResult
from pydantic_ai.embeddings.wrapper import WrapperEmbeddingModel

from spanhook import semconv
from spanhook.instrument.pydantic_ai.arguments import EMBED as CALL
from spanhook.instrument.pydantic_ai.describing import model_of, note_model, provider_of
from spanhook.instrument.pydantic_ai.responses import usage_of
from spanhook.model import Adapter, Args, Attributes, Carried, Change, Editing, Kwargs, Nesting, Reading, Request, Usage

LAYER = "pydantic_ai.embeddings"


def chosen(instance: Any, _args: Args, _kwargs: Kwargs) -> Adapter | None:
    """The adapter of a call; ``None`` for a model that only passes it on."""
    return None if isinstance(instance, WrapperEmbeddingModel) else EMBED


def embed_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    attributes: Attributes = {semconv.GEN_AI_OPERATION_NAME: "embeddings"}
    note_model(attributes, instance)
    return attributes


def _inputs(args: Args, kwargs: Kwargs) -> list[str]:
    given = CALL.given(args, kwargs, "inputs")
    return [given] if isinstance(given, str) else list(given)


def embed_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=_inputs(args, kwargs), model=model_of(instance))


def embed_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return list(_inputs(args, kwargs))


def embed_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    return CALL.having(args, kwargs, inputs=change.inputs)


def embed_response(result: Any) -> tuple[Attributes, Usage | None]:
    attributes: Attributes = {}
    if isinstance(result.model_name, str) and result.model_name:
        attributes[semconv.GEN_AI_RESPONSE_MODEL] = result.model_name
    return attributes, usage_of(result.usage)


def embed_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """What a model would have returned: a hook gives vectors, or the library's result."""
    if isinstance(value, EmbeddingResult):
        return value
    if not isinstance(value, Sequence):
        raise TypeError(f"an answer to embeddings is an EmbeddingResult or vectors, not {type(value).__name__}")
    return EmbeddingResult(
        value,
        inputs=_inputs(args, kwargs),
        input_type=kwargs["input_type"],
        model_name=model_of(instance),
        provider_name=provider_of(instance),
    )


EMBED = Adapter(
    kind="embeddings.create",
    layer=LAYER,
    span_kind=SpanKind.CLIENT,
    start=embed_start,
    reading=Reading(request=embed_request, response=embed_response),
    editing=Editing(rewrite=embed_rewrite, takes=frozenset(("inputs",)), answer=embed_answer),
    nesting=Nesting(role="framework", carries=embed_carries, transport_of=frozenset((LAYER,))),
)
