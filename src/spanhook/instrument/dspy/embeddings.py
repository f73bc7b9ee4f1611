"""Embeddings: ``Embedder.__call__`` and ``acall``, in front of DSPy's cache, for functions of the application too."""

from collections.abc import Sequence
from typing import Any, cast

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.instrument.dspy.models import named
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    Carried,
    Change,
    Editing,
    Kwargs,
    Nesting,
    Reading,
    Request,
    first,
    with_first,
)


def _model_of(embedder: Any) -> str:
    """The model's name, or that of the function in its place."""
    model = embedder.model
    return model if isinstance(model, str) else str(getattr(model, "__name__", type(model).__name__))


def _inputs(args: Args, kwargs: Kwargs) -> list[Any]:
    given = first(args, kwargs, "inputs")
    return [given] if isinstance(given, str) else list(given)


def embed_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    provider, model = named(_model_of(instance))
    return {semconv.GEN_AI_PROVIDER_NAME: provider or "dspy", semconv.GEN_AI_REQUEST_MODEL: model}


def embed_request(instance: Any, args: Args, kwargs: Kwargs) -> Request:
    return Request(inputs=_inputs(args, kwargs), model=named(_model_of(instance))[1])


def embed_carries(_instance: Any, args: Args, kwargs: Kwargs) -> Carried:
    return list(_inputs(args, kwargs))


def embed_rewrite(_instance: Any, args: Args, kwargs: Kwargs, change: Change) -> tuple[Args, Kwargs]:
    """One text stays one: the result is a vector then, and not a list of them."""
    asked: Any = change.inputs
    one = isinstance(first(args, kwargs, "inputs"), str)
    if one and isinstance(asked, list):
        (asked,) = cast("list[Any]", asked)
    if isinstance(asked, str) is not one:
        raise ValueError("embeddings of one text take one text, and those of several take several")
    return with_first(args, kwargs, "inputs", asked)


def embed_answer(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Any:
    """Vectors as DSPy returns them: an array of one dimension for one text, of two for several."""
    if not isinstance(value, Sequence) and not hasattr(value, "__array__"):
        raise TypeError(f"an answer to embeddings is a vector, or a list of them, not {type(value).__name__}")
    asked: Any = first(args, kwargs, "inputs")
    single = isinstance(asked, str)
    vectors: Any = [value] if _is_vector(value) else value
    wanted = 1 if single else len(asked)
    if len(vectors) != wanted:
        raise ValueError(f"an answer to embeddings has a vector for each text: {wanted}, not {len(vectors)}")
    return instance._postprocess(vectors, single)


def _is_vector(value: Any) -> bool:
    return len(value) > 0 and not hasattr(value[0], "__len__")


EMBED = Adapter(
    kind="embeddings.create",
    layer="dspy.embeddings",
    span_kind=SpanKind.CLIENT,
    start=embed_start,
    reading=Reading(request=embed_request),
    editing=Editing(rewrite=embed_rewrite, takes=frozenset(("inputs",)), answer=embed_answer),
    nesting=Nesting(role="framework", carries=embed_carries),
)
