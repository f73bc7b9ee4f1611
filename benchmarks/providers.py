"""The providers of one process: what a variant asks for, with exporters that drop everything."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from benchmarks.variants import Variant


class Spans(SpanExporter):
    """Drops spans, unless ``kept`` is a list."""

    def __init__(self) -> None:
        self.kept: list[ReadableSpan] | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.kept is not None:
            self.kept.extend(spans)
        return SpanExportResult.SUCCESS


class Logs(LogRecordExporter):
    """Drops log records."""

    def export(self, batch: Sequence[Any]) -> LogRecordExportResult:
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None: ...

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


class Providers:
    """Where a variant's telemetry goes, and a second tracer provider like its own for the bare spans."""

    def __init__(self, variant: Variant) -> None:
        self.exporter = Spans()
        self.tracers = _tracers(variant, self.exporter)
        self.bare = _tracers(variant, Spans())
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False) if variant.metrics else None
        self.loggers = LoggerProvider(shutdown_on_exit=False) if variant.logs else None
        if self.loggers is not None:
            self.loggers.add_log_record_processor(BatchLogRecordProcessor(Logs()))

    def flush(self) -> None:
        """Export everything, as happens over time in an application."""
        for provider in (self.tracers, self.bare, self.loggers):
            if provider is not None:
                provider.force_flush()
        if self.meters is not None:
            self.reader.get_metrics_data()


def _tracers(variant: Variant, exporter: SpanExporter) -> TracerProvider:
    provider = TracerProvider(sampler=ALWAYS_OFF if variant.sampling == "off" else None, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


@contextmanager
def surroundings(variant: Variant) -> Generator[None]:
    """What is current while operations run: for ``parent_off`` the span of a caller that was not sampled."""
    if variant.sampling != "parent_off":
        yield
        return
    parent = trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(0))
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(parent)))
    try:
        yield
    finally:
        context.detach(token)
