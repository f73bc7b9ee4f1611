"""Providers for applications that have none: created by ``spanhook run``, ``demo`` and ``load``, as ``OTEL_*`` asks.

The SDK's own configurator is not used: it always sets all three providers, takes OTLP to mean gRPC, and does not export
if only an endpoint is set.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, TextIO
from uuid import uuid4

import wrapt
from opentelemetry import _logs, metrics, trace
from opentelemetry._logs import _internal as logs_api
from opentelemetry.metrics import _internal as metrics_api
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.errors import ConfigurationError
from spanhook.export._asleep import created
from spanhook.export._losses import watch
from spanhook.export._tracers import LeanProvider
from spanhook.export.environment import SIGNALS, asked, disabled
from spanhook.export.wire import accelerate
from spanhook.identity import attribute
from spanhook.telemetry import telemetry


@dataclass(frozen=True, slots=True)
class _Global:
    """One of the three global providers: how to get, create and set it, and what prevents setting it twice."""

    get: Callable[[], Any]
    set: Callable[[Any], None]
    make: Callable[[Resource, list[Any]], Any]
    api: Any
    once: str


def _tracer_provider(resource: Resource, exporters: list[Any]) -> TracerProvider:
    provider = LeanProvider(resource=resource)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _meter_provider(resource: Resource, exporters: list[Any]) -> MeterProvider:
    readers = [one if isinstance(one, MetricReader) else PeriodicExportingMetricReader(one) for one in exporters]
    return MeterProvider(readers, resource=resource)


def _logger_provider(resource: Resource, exporters: list[Any]) -> LoggerProvider:
    provider = LoggerProvider(resource=resource)
    for exporter in exporters:
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    return provider


_GLOBALS = {
    "traces": _Global(
        trace.get_tracer_provider,
        trace.set_tracer_provider,
        _tracer_provider,
        trace,
        "_TRACER_PROVIDER_SET_ONCE",
    ),
    "metrics": _Global(
        metrics.get_meter_provider,
        metrics.set_meter_provider,
        _meter_provider,
        metrics_api,
        "_METER_PROVIDER_SET_ONCE",
    ),
    "logs": _Global(
        _logs.get_logger_provider,
        _logs.set_logger_provider,
        _logger_provider,
        logs_api,
        "_LOGGER_PROVIDER_SET_ONCE",
    ),
}


_exporters: list[Any] = []
"""Those that were made here."""


def existing(signal: str) -> Any:
    """The global provider of a signal, or ``None`` if none was set."""
    provider = _GLOBALS[signal].get()
    return None if _is_placeholder(provider) else provider


def _is_placeholder(provider: Any) -> bool:
    # Logfire's own providers have the names of the API's placeholders.
    name, module = type(provider).__name__, type(provider).__module__
    return name.lstrip("_").startswith("Proxy") and module.startswith("opentelemetry.")


def setup(service_name: str | None = None, console: TextIO | None = None) -> bool:
    """Create global providers for the signals that ``OTEL_*`` asks to export and that have none.

    Nothing is created, and no network is used, unless asked for. If the application later sets its own provider, ours
    gives way.

    Args:
        service_name: The service name if neither ``OTEL_SERVICE_NAME`` nor ``OTEL_RESOURCE_ATTRIBUTES`` has one.
        console: Where exporters named ``console`` write; standard output unless given.

    Returns:
        Whether a provider was created.

    Raises:
        ConfigurationError: An exporter is unknown or not installed.
    """
    if disabled():
        return False
    wanted = {signal: names for signal, names in asked().items() if names and existing(signal) is None}
    if not wanted:
        return False
    made = {signal: [_export(signal, name, console) for name in names] for signal, names in wanted.items()}
    resource = Resource.create()
    if service_name and str(resource.attributes.get(SERVICE_NAME, "unknown_service")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: service_name}))
    if SERVICE_INSTANCE_ID not in resource.attributes:  # older SDKs set none, and processes would share their series
        resource = resource.merge(Resource({SERVICE_INSTANCE_ID: str(uuid4())}))
    for signal in sorted(
        made, key="metrics".__ne__
    ):  # created first, metrics end last: they report what the others lost
        one = _GLOBALS[signal]
        one.set(created(one.make, resource, made[signal]))
        _give_way(one)
    wrapt.register_post_import_hook(_flush_children, "multiprocessing.util")
    return True


def flush(timeout: float = 5.0) -> bool:
    """Export what is pending; returns whether that was done within ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    done = True
    reaper.drain(timeout)
    for signal in SIGNALS:
        force_flush = attribute(existing(signal), "force_flush")
        if force_flush is not None:
            left = max(1, int((deadline - time.monotonic()) * 1000))
            try:
                done = bool(force_flush(left)) and done
            except Exception as error:
                internal.report("providers.flush", error)
                done = False
    return done


def end_within(seconds: float) -> None:
    """Let exporters that were made here try no longer than this from now on, as the process ends.

    They would try for up to 10 s each, which is in vain if the collector ends with the process. What is not exported by
    then is lost.
    """
    timer = threading.Timer(seconds, _shut_down)
    timer.daemon = True
    timer.start()


def _shut_down() -> None:
    for exporter in _exporters:
        try:
            exporter.shutdown()
        except Exception as error:
            internal.report("providers.shutdown", error)


def _export(signal: str, name: str, console: TextIO | None) -> Any:
    found = next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=name)))
    try:
        make = found.load()
        exporter = make(out=console) if name == "console" and console is not None else make()
        _exporters.append(exporter)
        return watch(signal, accelerate(signal, exporter))
    except Exception as error:
        raise ConfigurationError(
            f"the {name} exporter for {signal} cannot be created: {type(error).__name__}: {error}"
        ) from error


def _give_way(one: _Global) -> None:
    """Let the application replace our provider with its own; spanhook then uses that, like any provider set late."""
    guard = getattr(one.api, one.once, None)
    if guard is not None:  # otherwise the application gets the API's own warning and keeps ours
        setattr(one.api, one.once, type(guard)())


def _flush_children(util: Any) -> None:
    """Flush in forked ``multiprocessing`` children: they end without ``atexit``, where providers export what is
    left.
    """

    def in_child(_providers: Any) -> None:
        util.Finalize(None, flush, exitpriority=0)

    util.register_after_fork(telemetry, in_child)
