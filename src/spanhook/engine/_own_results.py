"""How results of the application's own code are read: those of models, and streams."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from types import AsyncGeneratorType, GeneratorType
from typing import Any, cast

from spanhook import semconv
from spanhook.model import Args, Attributes, Kwargs, PlainTexts, Usage, copied


def model_response(result: Any) -> tuple[Attributes, Usage | None]:
    """Why a model stopped, where its message says so."""
    said: Mapping[str, Any] = cast("Mapping[str, Any]", result) if isinstance(result, Mapping) else {}
    reason = said.get("finish_reason")
    if not reason or not isinstance(reason, str):
        return {}, None
    return {semconv.GEN_AI_RESPONSE_FINISH_REASONS: (reason,)}, None


class OwnChunks:
    """Joins text chunks; collects others in a list."""

    __slots__ = ("complete", "keep", "kept")

    def __init__(self, _own: Any, _args: Args, _kwargs: Kwargs) -> None:
        self.keep = self.complete = False
        self.kept: list[Any] = []

    def add(self, chunk: Any) -> bool:
        if self.keep:
            self.kept.append(copied(chunk))  # its consumer may edit it
        return True

    def response(self) -> tuple[Attributes, Usage | None]:
        return {}, None

    def result(self) -> Any:
        kept = self.kept
        return "".join(kept) if kept and all(isinstance(one, str) for one in kept) else kept


TEXTS = PlainTexts()


def as_chunks(_own: Any, _args: Args, _kwargs: Kwargs, value: Any) -> Iterable[Any]:
    """The chunks of an answer: the items of a list, else one chunk."""
    return cast("Iterable[Any]", value) if isinstance(value, list | tuple) else [value]


def generators(result: Any) -> str:
    if isinstance(result, GeneratorType):
        return "sync"
    return "async" if isinstance(result, AsyncGeneratorType) else ""


def iterators(result: Any) -> str:
    """Which iterator a result is: a model's stream may be of any type."""
    if isinstance(result, Iterator):
        return "sync"
    return "async" if isinstance(result, AsyncIterator) else ""
