"""What exporters give up is counted, whoever refused it."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from spanhook import semconv
from spanhook.cli.conformance.servers.loopback import serving
from spanhook.diagnostics import internal
from spanhook.export._losses import watch
from tests.commands import Folder
from tests.servers.collector import collector


@pytest.fixture(autouse=True)
def forgotten() -> Generator[None, None, None]:
    """What is lost here is no loss of other tests."""
    yield
    internal.renew()


@contextmanager
def answering(status: int) -> Generator[str, None, None]:
    """A server that answers so to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        yield url


def lost(url: str, timeout: float = 0.5) -> dict[str, int]:
    """What counts as dropped of three spans and two log records sent there, where that is tried for so many seconds."""
    before = internal.lost.copy()
    tracers, loggers = TracerProvider(), LoggerProvider()
    traces = watch("traces", OTLPSpanExporter(f"{url}/v1/traces", timeout=timeout))
    logs = watch("logs", OTLPLogExporter(f"{url}/v1/logs", timeout=timeout))
    tracers.add_span_processor(BatchSpanProcessor(traces))
    loggers.add_log_record_processor(BatchLogRecordProcessor(logs))
    for _ in range(3):
        tracers.get_tracer("one").start_span("one").end()
    for _ in range(2):
        loggers.get_logger("one").emit(LogRecord(body="one"))
    tracers.shutdown()
    loggers.shutdown()
    return dict(internal.lost - before)


@pytest.mark.parametrize("status", [400, 413, 503])
def test_what_a_server_refuses_is_counted(status: int) -> None:
    with answering(status) as url:
        assert lost(url) == {"exporter.traces": 3, "exporter.logs": 2}


def test_what_nobody_takes_is_counted() -> None:
    assert lost("http://127.0.0.1:9") == {"exporter.traces": 3, "exporter.logs": 2}


def test_what_is_taken_is_not_counted() -> None:
    with answering(200) as url:
        assert lost(url, timeout=60.0) == {}


def test_an_exporter_that_raises_still_raises_and_is_counted() -> None:
    class Broken:
        def export(self, batch: list[int]) -> None:
            raise OSError(len(batch))

    before = internal.lost.copy()
    with pytest.raises(OSError, match="4"):
        watch("logs", Broken()).export([1, 2, 3, 4])
    assert internal.lost - before == {"exporter.logs": 4}


def test_an_exporter_that_says_nothing_has_exported() -> None:
    class Silent:
        def export(self, batch: list[int]) -> None:
            """Say nothing."""

    before = internal.lost.copy()
    watch("traces", Silent()).export([1, 2])
    assert internal.lost == before


def test_an_exporter_that_cannot_be_watched_exports_all_the_same() -> None:
    class Fixed:
        __slots__ = ()

        def export(self, batch: list[int]) -> int:
            return len(batch)

    assert watch("traces", Fixed()).export([1, 2]) == 2


def test_metrics_are_sums_and_told_again() -> None:
    exporter = OTLPMetricExporter("http://127.0.0.1:9/v1/metrics")
    assert watch("metrics", exporter) is exporter
    assert "export" not in vars(exporter)


EMITS = """
from opentelemetry import _logs, trace
from opentelemetry._logs import LogRecord

trace.get_tracer("one").start_span("one").end()
_logs.get_logger("one").emit(LogRecord(body="one"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["traces", "logs"])
def test_what_is_lost_as_a_process_ends_is_told_by_its_metrics(tmp_path: Path, lost: str) -> None:
    with collector() as seen:
        variable = f"OTEL_EXPORTER_OTLP_{lost.upper()}"
        away = {f"{variable}_ENDPOINT": "http://127.0.0.1:9", f"{variable}_TIMEOUT": "1"}
        folder = Folder(tmp_path).write(app=EMITS)
        ran = folder.spanhook("run", "app.py", OTEL_EXPORTER_OTLP_ENDPOINT=seen.url, **away)
        assert ran.returncode == 0, ran.stderr
        assert semconv.METRIC_DROPPED in seen.metrics
