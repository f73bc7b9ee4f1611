"""A tracer provider that is not the SDK's, as other vendors have."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span, SpanContext, Tracer, TracerProvider
from opentelemetry.trace.span import NonRecordingSpan


def span_id(span: ReadableSpan | None) -> int:
    """The id of a recorded span."""
    assert span is not None
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def parent_id(span: ReadableSpan | None) -> int:
    """The id of the parent of a recorded span that has one."""
    assert span is not None
    assert span.parent is not None
    return span.parent.span_id


class ForeignSpan(NonRecordingSpan):
    """A span that records nothing but knows its context."""

    def __init__(self) -> None:
        super().__init__(SpanContext(0xABC, 0xDEF, is_remote=False))


class ForeignTracer(Tracer):
    def start_span(self, *args: Any, **kwargs: Any) -> Span:
        return ForeignSpan()

    @contextmanager
    def start_as_current_span(self, *args: Any, **kwargs: Any) -> Generator[Span, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield ForeignSpan()


class ForeignProvider(TracerProvider):
    def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
        return ForeignTracer()
