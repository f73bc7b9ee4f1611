"""A tracer provider that is not the SDK's, as other vendors have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.trace import Span, SpanContext, Tracer, TracerProvider
from opentelemetry.trace.span import NonRecordingSpan


class ForeignSpan(NonRecordingSpan):
    """A span that records nothing but knows its context."""

    def __init__(self) -> None:
        super().__init__(SpanContext(0xABC, 0xDEF, is_remote=False))


class ForeignTracer(Tracer):
    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        return ForeignSpan()

    @contextmanager
    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Iterator[Span]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield ForeignSpan()


class ForeignProvider(TracerProvider):
    def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
        return ForeignTracer()
