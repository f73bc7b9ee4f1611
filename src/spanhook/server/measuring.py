"""The server's own metrics, in the format of Prometheus. They name no tenant, path parameter or caller."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from spanhook.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Answered(Protocol):
    """A response that has a status."""

    status: int


class Measures:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "spanhook_server_requests", "Requests", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "spanhook_server_request_duration_seconds",
            "Time until a request was answered",
            ("method", "route"),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._active = Gauge("spanhook_server_active_requests", "Requests being served", registry=self._registry)
        info = Gauge("spanhook_server_info", "The server's version", ("version",), registry=self._registry)
        info.labels(__version__).set(1)

    @contextmanager
    def request(self, scope: dict[str, Any], response: Answered) -> Generator[None]:
        """Measure a request."""
        begun = time.perf_counter()
        self._active.inc()
        try:
            yield
        finally:
            self._active.dec()
            route = getattr(scope.get("route"), "path", "") or "none"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._requests.labels(method, route, str(response.status or 500)).inc()
            self._seconds.labels(method, route).observe(time.perf_counter() - begun)

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)
