"""Sending made-up telemetry with a plain SDK, as any application might."""

import itertools
import json
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, Tracer, set_span_in_context

SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Application:
    """An application's providers, flushed when it is left."""

    tracer_provider: TracerProvider
    logger_provider: LoggerProvider

    @property
    def tracer(self) -> Tracer:
        return self.tracer_provider.get_tracer("made-up")

    def log(self, name: str, body: Any, attributes: Mapping[str, Any] | None = None) -> None:
        """Emit a log event."""
        record = LogRecord(severity_number=SeverityNumber.INFO, event_name=name, body=body, attributes=attributes or {})
        self.logger_provider.get_logger("made-up").emit(record)

    def run(
        self,
        name: str,
        *,
        seconds: float = 0.1,
        ended: float | None = None,
        status: str = "success",
        attributes: Mapping[str, Any] | None = None,
        children: Sequence[tuple[str, str]] = (),
    ) -> str:
        """A finished run of an agent, with children named and with a status each; returns its trace id.

        Args:
            name: Of its root span.
            seconds: How long it took.
            ended: When it ended, as a Unix time; now unless given.
            status: Its ``spanhook.status``.
            attributes: More attributes of its root span.
            children: Name and status of the spans in it, one after the other.
        """
        end = int((ended or time.time()) * SECOND)
        start = end - int(seconds * SECOND)
        root = self.tracer.start_span(
            name, start_time=start, attributes={"spanhook.status": status, **(attributes or {})}
        )
        context = set_span_in_context(root)
        step = int(seconds * SECOND) // (len(children) + 1)
        for at, (child, child_status) in zip(itertools.count(start, step), children, strict=False):
            span = self.tracer.start_span(child, context, start_time=at, attributes={"spanhook.status": child_status})
            if child_status in ("error", "rejected"):
                span.set_status(Status(StatusCode.ERROR, child_status))
            span.end(at + step)
        root.end(end)
        return f"{root.get_span_context().trace_id:032x}"


@contextmanager
def application(endpoint: str, resource: Mapping[str, Any] | None = None) -> Generator[Application, None, None]:
    """An application that sends to ``endpoint``; left, it has sent everything."""
    of = Resource.create({"service.name": "made-up", **(resource or {})})
    tracers, loggers = TracerProvider(resource=of), LoggerProvider(resource=of)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{endpoint}/v1/logs")))
    try:
        yield Application(tracers, loggers)
    finally:
        tracers.shutdown()
        loggers.shutdown()


def count(
    url: str,
    metric: str,
    value: int,
    resource: Mapping[str, str],
    attributes: Mapping[str, str],
    *,
    since: float,
    at: float,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Send one figure that a process has counted.

    Args:
        url: Where metrics are taken as OTLP over HTTP.
        metric: Its name.
        value: What was counted.
        resource: Whose it is.
        attributes: Of what.
        since: When the process began to count, as a Unix time.
        at: When it had counted so many.
        headers: More headers of the request.
    """
    point = {
        "attributes": _attributes(attributes),
        "startTimeUnixNano": str(int(since * SECOND)),
        "timeUnixNano": str(int(at * SECOND)),
        "asInt": str(value),
    }
    counter = {"name": metric, "sum": {"aggregationTemporality": 2, "isMonotonic": True, "dataPoints": [point]}}
    whole = {"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [{"metrics": [counter]}]}
    content = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, json.dumps({"resourceMetrics": [whole]}).encode(), content)
    urllib.request.urlopen(request, timeout=10).close()


def _attributes(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
