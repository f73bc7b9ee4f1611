"""The server's own metrics, in the format of Prometheus. They name no tenant, path parameter or caller."""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from spanhook.jobs import Job, Runner
from spanhook.store.control import Ingestor, Retention
from spanhook.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_JOB_BUCKETS = (0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200)
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Answered(Protocol):
    """A response that has a status."""

    status: int


class _Stored(Collector):
    """What was taken in and deleted, read when it is asked for."""

    def __init__(self, ingestor: Ingestor, retention: Retention) -> None:
        self._ingestor, self._retention = ingestor, retention

    def collect(self) -> Iterator[Metric]:
        taken, kept = self._ingestor.figures, self._retention.figures
        stored = CounterMetricFamily(
            "spanhook_server_ingested_records", "Records of telemetry that were stored", labels=["signal"]
        )
        for signal, count in (("traces", taken.spans), ("logs", taken.logs), ("metrics", taken.points)):
            stored.add_metric([signal], count)
        yield stored
        lost = CounterMetricFamily(
            "spanhook_server_ingest_failures",
            "Records and requests that were not stored",
            labels=["reason"],
        )
        for reason, count in (("rejected", taken.rejected), ("refused", taken.refused), ("failed", taken.failed)):
            lost.add_metric([reason], count)
        yield lost
        yield GaugeMetricFamily(
            "spanhook_server_ingest_waiting", "Requests that wait to be written", value=taken.waiting
        )
        deleted = CounterMetricFamily(
            "spanhook_server_retention_deleted_rows", "Rows that were deleted for age or size", labels=["table"]
        )
        for table, count in sorted(kept.deleted.items()):
            deleted.add_metric([table.removeprefix("spanhook_")], count)
        yield deleted
        yield CounterMetricFamily(
            "spanhook_server_retention_sweeps", "How often it was looked what to delete", value=kept.sweeps
        )
        yield CounterMetricFamily(
            "spanhook_server_retention_failures", "How often that has failed", value=kept.failures
        )
        yield GaugeMetricFamily(
            "spanhook_server_stored_bytes", "Bytes that the database took at the last look", value=kept.bytes
        )


class _Queued(Collector):
    """How many jobs this process runs, read when it is asked for."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("spanhook_server_jobs_running", "Jobs that run", value=self._runner.running)
        yield GaugeMetricFamily("spanhook_server_jobs_waiting", "Jobs that wait", value=self._runner.waiting)


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
        self._jobs = Counter("spanhook_server_jobs", "Jobs that have ended", ("status",), registry=self._registry)
        self._job_seconds = Histogram(
            "spanhook_server_job_duration_seconds",
            "Time from the beginning of a job to its end",
            ("status",),
            registry=self._registry,
            buckets=_JOB_BUCKETS,
        )
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

    def job(self, job: Job) -> None:
        """Count a job that has ended."""
        self._jobs.labels(job.status).inc()
        self._job_seconds.labels(job.status).observe(max(0, job.ended_ns - (job.started_ns or job.ended_ns)) / 1e9)

    def watch_jobs(self, runner: Runner) -> None:
        """Tell how many jobs run and wait, too."""
        self._registry.register(_Queued(runner))

    def watch(self, ingestor: Ingestor, retention: Retention) -> None:
        """Tell what became of telemetry, too."""
        self._registry.register(_Stored(ingestor, retention))

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)
