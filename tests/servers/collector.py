"""An OTLP/HTTP receiver on loopback that keeps what it is sent."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanhook.cli.conformance.servers.loopback import Server


class Collector:
    """What was received, by signal.

    Attributes:
        url: What to set ``OTEL_EXPORTER_OTLP_ENDPOINT`` to.
        paths: Every path that was posted to.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.received: list[tuple[str, bytes]] = []

    @property
    def paths(self) -> set[str]:
        return {path for path, _ in self.received}

    def _each(self, path: str, message: Any) -> list[Any]:
        return [message.FromString(body) for got, body in self.received if got == path]

    @property
    def spans(self) -> list[str]:
        """Names of all spans."""
        requests = self._each("/v1/traces", ExportTraceServiceRequest)
        resources = [resource for request in requests for resource in request.resource_spans]
        return [span.name for resource in resources for scope in resource.scope_spans for span in scope.spans]

    @property
    def events(self) -> list[str]:
        """Names of all log events."""
        requests = self._each("/v1/logs", ExportLogsServiceRequest)
        resources = [resource for request in requests for resource in request.resource_logs]
        return [one.event_name for resource in resources for scope in resource.scope_logs for one in scope.log_records]

    @property
    def metrics(self) -> set[str]:
        """Names of all metrics."""
        requests = self._each("/v1/metrics", ExportMetricsServiceRequest)
        resources = [resource for request in requests for resource in request.resource_metrics]
        return {metric.name for resource in resources for scope in resource.scope_metrics for metric in scope.metrics}

    @property
    def services(self) -> set[str]:
        """``service.name`` of all that sent spans."""
        return self._resources("service.name")

    @property
    def instances(self) -> set[str]:
        """``service.instance.id`` of all that sent spans."""
        return self._resources("service.instance.id")

    def _resources(self, key: str) -> set[str]:
        return {
            attribute.value.string_value
            for request in self._each("/v1/traces", ExportTraceServiceRequest)
            for resource in request.resource_spans
            for attribute in resource.resource.attributes
            if attribute.key == key
        }


@contextmanager
def collector() -> Generator[Collector]:
    """A receiver for the length of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.received.append((self.path, body))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = Server(("127.0.0.1", 0), Handler)
    seen = Collector(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.stop()
        thread.join()
        server.server_close()
