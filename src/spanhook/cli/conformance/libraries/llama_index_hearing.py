"""What LlamaIndex's dispatcher tells of results, besides return values: in events, and at the end of its spans."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from spanhook.cli.conformance.libraries.llama_index_ways import ASK
from spanhook.cli.conformance.subject import Subject

_instrumentation: Any = import_module("llama_index.core.instrumentation")
_events: Any = import_module("llama_index.core.instrumentation.event_handlers")
_spans: Any = import_module("llama_index.core.instrumentation.span_handlers")
_span: Any = import_module("llama_index.core.instrumentation.span")


@dataclass
class Heard:
    """What one handler was told.

    Attributes:
        results: Each result, with what it was told by.
        names: Every event and every end of a span, in order.
    """

    results: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    names: list[str] = field(default_factory=list[str])

    @property
    def ends(self) -> list[Any]:
        """The results, but for parts of them."""
        return [result for name, result in self.results if "InProgress" not in name]


def _told(result: Any) -> str:
    """A result in words; what an agent was asked is among those of its steps."""
    return repr(result).replace(ASK, "")


class _Events(_events.BaseEventHandler):  # pyright: ignore[reportUntypedBaseClass]
    heard: Any = None

    @classmethod
    def class_name(cls) -> str:
        return "SpanhookEvents"

    def handle(self, event: Any, **_given: Any) -> None:
        name = type(event).__name__
        self.heard.names.append(name)
        response = getattr(event, "response", None)
        if response is not None:
            self.heard.results.append((name, _told(response)))


class _Spans(_spans.BaseSpanHandler):  # pyright: ignore[reportUntypedBaseClass]
    heard: Any = None

    def __init__(self, heard: Heard) -> None:
        base: Any = super()
        base.__init__()
        self.heard = heard

    @classmethod
    def class_name(cls) -> str:
        return "SpanhookSpans"

    def new_span(self, id_: str, *_args: Any, **_given: Any) -> Any:
        return _span.SimpleSpan(id_=id_)

    def prepare_to_exit_span(self, id_: str, *_args: Any, result: Any = None, **_given: Any) -> Any:
        name = id_.partition("-")[0]
        self.heard.names.append(name)
        if result is not None:
            self.heard.results.append((name, _told(result)))
        return self.open_spans[id_]

    def prepare_to_drop_span(self, id_: str, *_args: Any, **_given: Any) -> Any:
        self.heard.names.append(f"{id_.partition('-')[0]} dropped")
        return self.open_spans.get(id_)


@contextmanager
def listening() -> Generator[Heard]:
    """Attach handlers to everything that is called in the block."""
    root, heard = _instrumentation.get_dispatcher(), Heard()
    before = [*root.event_handlers], [*root.span_handlers]
    root.event_handlers = [*before[0], _Events(heard=heard)]
    root.span_handlers = [*before[1], _Spans(heard=heard)]
    try:
        yield heard
    finally:
        root.event_handlers, root.span_handlers = before


def listeners(_subject: Subject, _way: str) -> Iterator[AbstractContextManager[Heard]]:
    """One that hears all."""
    yield listening()
