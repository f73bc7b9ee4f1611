"""What telemetry costs the process that creates it: creating spans and log events, then encoding and sending them.

Every round does all of it once, plus a control: spans of the bare SDK. CPU time is that of all threads of this process.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import mean, median
from typing import Any

from opentelemetry._logs import Logger
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, set_span_in_context

import spanhook
from benchmarks.payloads import BATCH, BODY, ENDED, SPANS_PER_RUN, STARTED
from benchmarks.terminal import tell
from spanhook import semconv
from spanhook.export.wire import accelerate
from spanhook.export.wire.encoders import Ours, Theirs, logs, traces
from spanhook.model import Record
from spanhook.telemetry import _events, context_with
from spanhook.telemetry._lean_span import fill
from spanhook.telemetry.spans import Opener

RESOURCE = Resource({"service.name": "benchmark"})
CONTROL = "sdk", "span of the bare SDK"
ALONE, OPERATION = "span alone", "whole operation"
SDKS = "SDK's encoder"
NEVER = 3_600_000
"""Milliseconds after which processors export by themselves; here they are flushed after each batch."""
WARM = 3
"""Rounds that do not count."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one item costs.

    Attributes:
        part: The part of the pipeline.
        item: The kind of item.
        nanoseconds: CPU time.
        ratio: The cost as a multiple of a bare SDK span; the median over rounds.
    """

    part: str
    item: str
    nanoseconds: float
    ratio: float


class LastSpans(SpanExporter):
    """Drops spans, but keeps the last batch."""

    def __init__(self) -> None:
        self.batch: Sequence[ReadableSpan] = ()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.batch = spans
        return SpanExportResult.SUCCESS


class LastLogs(LogRecordExporter):
    """Drops log records, but keeps the last batch."""

    def __init__(self) -> None:
        self.batch: Sequence[Any] = ()

    def export(self, batch: Sequence[Any]) -> LogRecordExportResult:
        self.batch = batch
        return LogRecordExportResult.SUCCESS

    def shutdown(self) -> None: ...

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


class Sender:
    """An application's providers, and the work done with them; each piece of work is ``BATCH`` items."""

    def __init__(self) -> None:
        self._spans, self._bare_spans, self._logs = LastSpans(), LastSpans(), LastLogs()
        self._tracers, self._bare_tracers = _tracers(self._spans), _tracers(self._bare_spans)
        self._operated = LastSpans()
        self.operating = _tracers(self._operated)
        self._loggers = LoggerProvider(RESOURCE, shutdown_on_exit=False)
        self._loggers.add_log_record_processor(BatchLogRecordProcessor(self._logs, schedule_delay_millis=NEVER))
        self._opener = Opener(self._tracers.get_tracer("spanhook"))
        self._tracer = self._bare_tracers.get_tracer("bare")
        self._logger: Logger = self._loggers.get_logger("spanhook")
        self._context = set_span_in_context(self._tracer.start_span("a run"), Context())

    def bare(self) -> None:
        """Spans as an application creates them with only the SDK."""
        tracer = self._tracer
        for _ in range(BATCH // SPANS_PER_RUN):
            root = tracer.start_span("invoke_agent planner", Context(), SpanKind.INTERNAL, dict(STARTED))
            within = set_span_in_context(root, Context())
            for _ in range(SPANS_PER_RUN - 1):
                span = tracer.start_span("chat gpt-4o-mini", within, SpanKind.CLIENT, dict(STARTED))
                span.set_attributes(dict(ENDED))
                span.end()
            root.set_attributes(dict(ENDED))
            root.end()
        self._bare_tracers.force_flush()
        assert len(self._bare_spans.batch) == BATCH

    def operations(self) -> None:
        """Operations with nothing in them: spans like these, and all else that spanhook does for a call."""
        for _ in range(BATCH // SPANS_PER_RUN):
            with spanhook.operation("agent.invoke", "planner"):
                for _ in range(SPANS_PER_RUN - 1):
                    with spanhook.operation("llm.call", "gpt-4o-mini", provider="openai") as op:
                        op.record_usage(input_tokens=2894, output_tokens=589, cache_read_tokens=1536)
        self.operating.force_flush()
        assert len(self._operated.batch) == BATCH

    def spans(self) -> None:
        """The same spans as spanhook creates them, without the operations that they are of."""
        opener = self._opener
        for _ in range(BATCH // SPANS_PER_RUN):
            root = opener.open("invoke_agent planner", Context(), SpanKind.INTERNAL, dict(STARTED))
            within = context_with(root, Context())
            for _ in range(SPANS_PER_RUN - 1):
                span = opener.open("chat gpt-4o-mini", within, SpanKind.CLIENT, dict(STARTED))
                fill(span, dict(ENDED))
                span.end()
            fill(root, dict(ENDED))
            root.end()
        self._tracers.force_flush()
        assert len(self._spans.batch) == BATCH

    def logs(self) -> None:
        """Log events as spanhook emits them when a run has ended."""
        for _ in range(BATCH):
            run = Record.__new__(Record)  # nothing about it has been reported yet
            attributes = {**STARTED, **ENDED}
            _events.emit(run, 0, self._logger, self._context, semconv.EVENT_RUN, attributes, dict(BODY))
        self._loggers.force_flush()
        assert len(self._logs.batch) == BATCH

    def encodings(self) -> dict[tuple[str, str], Callable[[], None]]:
        """The last batches as bytes, by the encoder behind the exporters of commands and by OpenTelemetry's own."""

        def encode(signal: str, ours: Ours, theirs: Theirs) -> dict[tuple[str, str], Callable[[], None]]:
            def kept() -> Sequence[Any]:
                return self._spans.batch if signal == "span" else self._logs.batch

            return {
                ("encoder", signal): lambda: _some(ours(kept())),
                ("encoder", f"{signal}, {SDKS}"): lambda: _some(theirs(kept()).SerializeToString()),
            }

        return encode("span", traces(encode_spans), encode_spans) | encode("log event", logs(encode_logs), encode_logs)

    def sends_spans(self, exporter: SpanExporter) -> Callable[[], None]:
        """A function that sends the last batch of spans again."""

        def send() -> None:
            assert exporter.export(self._spans.batch) is SpanExportResult.SUCCESS

        return send

    def sends_logs(self, exporter: LogRecordExporter) -> Callable[[], None]:
        """A function that sends the last batch of log records again."""

        def send() -> None:
            assert exporter.export(self._logs.batch) is LogRecordExportResult.SUCCESS

        return send


def _some(encoded: bytes) -> None:
    assert encoded


def _tracers(exporter: SpanExporter) -> TracerProvider:
    provider = TracerProvider(resource=RESOURCE, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=NEVER))
    return provider


def costs(rounds: int, endpoints: tuple[str, str] | None, *, encoding: bool = False) -> Iterator[Cost]:
    """The cost of creating items, and of sending them if there are endpoints.

    Args:
        rounds: How often everything is done.
        encoding: Whether to measure encoders too.
        endpoints: A collector's endpoints for OTLP over HTTP and over gRPC.
    """
    sender = Sender()
    works: dict[tuple[str, str], Callable[[], None]] = {
        CONTROL: sender.bare,
        ("sdk", ALONE): sender.spans,
        ("sdk", OPERATION): sender.operations,
        ("sdk", "log event"): sender.logs,
    }
    if encoding:
        works |= sender.encodings()
    if endpoints is not None:
        http, grpc = endpoints
        works |= _sendings(
            sender, "", lambda: (OTLPSpanExporter(f"{http}/v1/traces"), OTLPLogExporter(f"{http}/v1/logs"))
        )
        if find_spec("grpc") is not None:
            works |= _sendings(sender, ", gRPC", lambda: _over_grpc(grpc))
    spanhook.instrument(tracer_provider=sender.operating)
    try:
        taken = _taken(works, rounds)
    finally:
        spanhook.uninstrument()
    for (part, item), times in taken.items():
        ratio = median(one / control for one, control in zip(times, taken[CONTROL], strict=True))
        yield Cost(part, item, mean(times) / BATCH, ratio)


def _taken(works: Mapping[tuple[str, str], Callable[[], None]], rounds: int) -> dict[tuple[str, str], list[int]]:
    """Nanoseconds of CPU that each took, in each round."""
    taken: dict[tuple[str, str], list[int]] = {name: [] for name in works}
    exporting = any(part == "exporter" for part, _ in works)
    for done in range(WARM + rounds):
        if done % 50 == WARM:
            tell(f"sdk{', exporter' if exporting else ''}: round {done - WARM + 1} of {rounds}")
        for name, work in works.items():
            before = time.process_time_ns()
            work()
            if done >= WARM:
                taken[name].append(time.process_time_ns() - before)
    return taken


def _sendings(
    sender: Sender, suffix: str, make: Callable[[], tuple[SpanExporter, LogRecordExporter]]
) -> dict[tuple[str, str], Callable[[], None]]:
    """Sending over one protocol: by exporters as commands create them, and as they are without spanhook."""
    spans, records = make()
    ours, ours_of_logs = accelerate("traces", spans), accelerate("logs", records)
    spans, records = make()
    return {
        ("exporter", f"span{suffix}"): sender.sends_spans(ours),
        ("exporter", f"span{suffix}, {SDKS}"): sender.sends_spans(spans),
        ("exporter", f"log event{suffix}"): sender.sends_logs(ours_of_logs),
        ("exporter", f"log event{suffix}, {SDKS}"): sender.sends_logs(records),
    }


def _over_grpc(endpoint: str) -> tuple[SpanExporter, LogRecordExporter]:
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter

    return GrpcSpanExporter(endpoint, insecure=True), GrpcLogExporter(endpoint, insecure=True)
