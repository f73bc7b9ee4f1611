"""A provider that leaves out the spans that libraries open themselves for calls that are spanhook's operations."""

from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, Span, SpanKind, Tracer, get_current_span

from spanhook.engine import repeats
from spanhook.telemetry import SCOPE, telemetry


class LeanProvider(TracerProvider):
    """Gives out tracers that open no second span for a call, unless the settings have ``library_spans``.

    In its place stands its parent, which does not record: what runs meanwhile, in this process or in another one that
    gets the context, has the parent as its own.
    """

    def get_tracer(self, instrumenting_module_name: str, *args: Any, **kwargs: Any) -> Tracer:
        tracer: Any = super().get_tracer(instrumenting_module_name, *args, **kwargs)
        if instrumenting_module_name == SCOPE:
            return tracer
        start = tracer.start_span

        def start_span(
            name: str,
            context: Context | None = None,
            kind: SpanKind = SpanKind.INTERNAL,
            attributes: Any = None,
            *args: Any,
            **kwargs: Any,
        ) -> Span:
            if not telemetry.settings.library_spans and repeats(instrumenting_module_name, name, attributes or {}):
                return NonRecordingSpan(get_current_span(context).get_span_context())
            return start(name, context, kind, attributes, *args, **kwargs)

        tracer.start_span = start_span  # what else starts spans calls this
        return tracer
