"""Pipelines, which are workflows in the conventions' terms. Agents, models and tools in them run as they do alone."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from spanhook import semconv
from spanhook.instrument.haystack.describing import PROVIDER
from spanhook.instrument.identities import ids_in
from spanhook.instrument.metaclass import meet
from spanhook.instrument.signatures import Signature
from spanhook.model import (
    Adapter,
    Args,
    Attributes,
    CallContext,
    Editing,
    Kwargs,
    Reading,
    Request,
    Streaming,
    Usage,
    runs_on,
)

CALL = Signature("data", "include_outputs_from")


def chosen(instance: Any, args: Args, kwargs: Kwargs) -> Adapter | None:
    if runs_on(PIPELINE, instance, args, kwargs):
        return None
    for _, component in instance.walk():
        meet(component)  # its generators may be no components
    return PIPELINE


def pipeline_start(instance: Any, _args: Args, _kwargs: Kwargs) -> Attributes:
    """The name is that in the pipeline's metadata; it has no other."""
    metadata = getattr(instance, "metadata", None)
    named = cast("Mapping[str, Any]", metadata).get("name") if isinstance(metadata, Mapping) else None
    named = named if isinstance(named, str) and named else type(instance).__name__
    return {semconv.GEN_AI_WORKFLOW_NAME: named}


def _data(args: Args, kwargs: Kwargs) -> Mapping[str, Any]:
    data = CALL.given(args, kwargs, "data")
    return cast("Mapping[str, Any]", data) if isinstance(data, Mapping) else {}


def pipeline_request(_instance: Any, args: Args, kwargs: Kwargs) -> Request:
    data = _data(args, kwargs)
    return Request(arguments=dict(data), inputs=data)


def pipeline_identity(_instance: Any, args: Args, kwargs: Kwargs) -> Mapping[str, str]:
    """User, tenant and session, if they are among the pipeline's inputs."""
    return {name: value for name, value in ids_in((_data(args, kwargs),)).items() if value}


def pipeline_answer(_instance: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    raise TypeError("the answer of a pipeline is the outputs of its components by their names")


def pipeline_parts(instance: Any, args: Args, kwargs: Kwargs, value: Any) -> Iterable[Any]:
    return (pipeline_answer(instance, args, kwargs, value),)


class Outputs:
    """What a pipeline yields as its components finish; the last of it is the result."""

    complete = False

    def __init__(self, _instance: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = False
        self._last: Any = None

    def add(self, chunk: Any) -> bool:
        self._last = chunk
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        """Nothing is reported here."""
        return {}, None

    def result(self) -> Any:
        return self._last


PIPELINE = Adapter(
    kind="run",
    layer=f"{PROVIDER}.pipeline",
    start=pipeline_start,
    context=CallContext(identity=pipeline_identity),
    reading=Reading(request=pipeline_request),
    editing=Editing(answer=pipeline_answer),
    streaming=Streaming(chunks=Outputs, answer_chunks=pipeline_parts),
    traits=frozenset(("pools",)),  # extractors and retrievers ask models in threads
)
