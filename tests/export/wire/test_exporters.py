"""OpenTelemetry's exporters send what is encoded here, and are otherwise as they were."""

import gzip
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.grpc import _log_exporter as grpc_logs
from opentelemetry.exporter.otlp.proto.grpc import metric_exporter as grpc_metrics
from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc_traces
from opentelemetry.exporter.otlp.proto.http import _log_exporter as http_logs
from opentelemetry.exporter.otlp.proto.http import metric_exporter as http_metrics
from opentelemetry.exporter.otlp.proto.http import trace_exporter as http_traces
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.trace import SpanContext

from spanhook.cli.conformance.servers.loopback import serving
from spanhook.diagnostics import internal
from spanhook.export import providers
from spanhook.export._losses import watch
from spanhook.export.wire import accelerate, specimens
from tests.servers.grpc_collector import grpc_collector

HTTP = {
    "traces": http_traces.OTLPSpanExporter,
    "logs": http_logs.OTLPLogExporter,
    "metrics": http_metrics.OTLPMetricExporter,
}
GRPC = {
    "traces": grpc_traces.OTLPSpanExporter,
    "logs": grpc_logs.OTLPLogExporter,
    "metrics": grpc_metrics.OTLPMetricExporter,
}
ENCODERS = {"traces": encode_spans, "logs": encode_logs, "metrics": encode_metrics}
SIGNALS = sorted(HTTP)
PARTIAL = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=1)).SerializeToString()


@pytest.fixture(autouse=True)
def forgotten() -> Generator[None]:
    """What is lost here is no loss of other tests."""
    yield
    internal.renew()


class Received:
    """What an HTTP server was sent: encodings, and bodies as they were before compression."""

    def __init__(self) -> None:
        self.url = ""
        self.encodings: list[str | None] = []
        self.bodies: list[bytes] = []


@contextmanager
def receiving(*statuses: int, answer: bytes = b"") -> Generator[Received]:
    """A server that answers with these statuses, one after another, and then with the last."""
    seen = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            encoding = self.headers["content-encoding"]
            seen.encodings.append(encoding)
            seen.bodies.append(gzip.decompress(body) if encoding == "gzip" else body)
            self.send_response(statuses[min(len(seen.bodies), len(statuses)) - 1])
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with serving(Handler) as seen.url:
        yield seen


def specimen(signal: str) -> Any:
    return specimens._SPECIMENS[signal]()[0]


def parsed(signal: str, body: bytes) -> Any:
    return type(ENCODERS[signal](specimen(signal))).FromString(body)


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_over_http_the_same_is_received(signal: str, compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    with receiving(200) as seen:
        exporter = accelerate(signal, HTTP[signal](seen.url))
        assert exporter.export(specimen(signal)).name == "SUCCESS"
        exporter.shutdown()

    assert seen.encodings == ["gzip" if compression == "gzip" else None]
    assert parsed(signal, seen.bodies[0]) == ENCODERS[signal](specimen(signal))


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_over_grpc_the_same_is_received(signal: str, compression: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if compression == "gzip":
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
    with grpc_collector() as seen:
        exporter = accelerate(signal, GRPC[signal](seen.url))
        assert exporter.export(specimen(signal)).name == "SUCCESS"
        exporter.shutdown()

    ((_, body),) = seen.received
    assert parsed(signal, body) == ENCODERS[signal](specimen(signal))


@pytest.mark.parametrize("exporters", [HTTP, GRPC], ids=["http", "grpc"])
@pytest.mark.parametrize("signal", SIGNALS)
def test_only_the_one_exporter_is_changed(signal: str, exporters: dict[str, Any]) -> None:
    of_class = dict(vars(exporters[signal]))
    changed, other = accelerate(signal, exporters[signal]()), exporters[signal]()

    (method,) = (one for one in vars(changed).values() if getattr(one, "__self__", None) is changed)
    name = ENCODERS[signal].__name__
    assert method.__func__.__globals__[name] is not ENCODERS[signal]
    assert getattr(other, method.__name__).__func__.__globals__[name] is ENCODERS[signal]
    assert dict(vars(exporters[signal])) == of_class
    for one in (changed, other):
        one.shutdown()


def test_others_are_left_alone() -> None:
    class Own(http_traces.OTLPSpanExporter):
        def export(self, spans: Any) -> Any:
            return len(spans)

    for exporter in (ConsoleSpanExporter(), Own()):
        before = dict(vars(exporter))
        assert accelerate("traces", exporter) is exporter
        assert vars(exporter) == before


def test_an_sdk_whose_names_are_not_known_exports_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setitem(sys.modules, "spanhook.export.wire.specimens", None)  # as if it could not import a name
    exporter = accelerate("traces", HTTP["traces"]())
    assert "export" not in vars(exporter)
    assert internal.counts["export.wire"] == 1
    exporter.shutdown()


def test_a_class_derived_from_an_exporter_is_accelerated_too() -> None:
    class Named(http_traces.OTLPSpanExporter):
        """An exporter of a vendor, which only sets an endpoint."""

    with receiving(200) as seen:
        exporter = accelerate("traces", Named(seen.url))
        assert "export" in vars(exporter)
        assert exporter.export(specimen("traces")).name == "SUCCESS"


@pytest.mark.parametrize("signal", SIGNALS)
def test_commands_create_accelerated_exporters(signal: str) -> None:
    exporter = providers._export(signal, "otlp_proto_http", None)
    assert "export" in vars(exporter)
    exporter.shutdown()


def test_over_http_it_is_tried_again() -> None:
    with receiving(503, 200) as seen:
        assert accelerate("traces", HTTP["traces"](seen.url)).export(specimen("traces")).name == "SUCCESS"
    assert len(seen.bodies) == 2
    assert seen.bodies[0] == seen.bodies[1]


@pytest.mark.slow
def test_over_grpc_it_is_tried_again() -> None:
    def unavailable_at_first(number: int, context: Any) -> bytes:
        if number == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "later")
        return b""

    with grpc_collector(unavailable_at_first) as seen:
        assert accelerate("traces", GRPC["traces"](seen.url)).export(specimen("traces")).name == "SUCCESS"
    assert seen.received[0] == seen.received[1]


@pytest.mark.parametrize("status", [400, 413])
def test_what_is_refused_is_counted(status: int) -> None:
    before = internal.lost.copy()
    with receiving(status) as seen:
        exporter = watch("traces", accelerate("traces", HTTP["traces"](seen.url)))
        assert exporter.export(specimen("traces")).name == "FAILURE"
    assert internal.lost - before == {"exporter.traces": 3}


def test_what_is_accepted_in_part_counts_as_before() -> None:
    before = internal.lost.copy()
    with receiving(200, answer=PARTIAL) as http, grpc_collector(lambda _number, _context: PARTIAL) as rpc:
        for plain in (HTTP["traces"](http.url), GRPC["traces"](rpc.url)):
            expected = plain.export(specimen("traces"))
            assert watch("traces", accelerate("traces", plain)).export(specimen("traces")) is expected
            plain.shutdown()
    assert internal.lost == before


def test_what_cannot_be_encoded_ends_as_before() -> None:
    odd = ReadableSpan("\ud800", SpanContext(1, 2, is_remote=False))

    def outcome(exporter: Any) -> Any:
        try:
            return exporter.export([odd])
        except Exception as error:
            return repr(error)

    with receiving(200) as seen:
        expected = outcome(HTTP["traces"](seen.url))
        assert outcome(accelerate("traces", HTTP["traces"](seen.url))) == expected
    assert seen.bodies == []


def test_nothing_is_encoded_or_compressed_on_threads_of_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    exported = threading.Event()
    threads: list[int] = []
    with receiving(200) as seen:
        exporter = accelerate("traces", HTTP["traces"](seen.url))
        send = exporter.export

        def export(spans: Any) -> Any:
            threads.append(threading.get_ident())
            result = send(spans)
            exported.set()
            return result

        exporter.export = export
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=2, schedule_delay_millis=60_000))
        for _ in range(2):
            provider.get_tracer("tracer").start_span("one").end()
        assert exported.wait(30)
        provider.shutdown()
    assert seen.encodings == ["gzip"]
    assert threading.get_ident() not in threads
