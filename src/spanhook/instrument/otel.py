"""OpenTelemetry functions that spanhook listens to: providers set late, hooks added to a provider."""

import logging
from typing import Any

from spanhook.diagnostics import log
from spanhook.engine import attach
from spanhook.instrument.instrumentor import Bindings
from spanhook.model import Args, Kwargs, Signal, first, with_first, without_words
from spanhook.telemetry import telemetry

_HERE = "spanhook.instrument.otel"


def provider_set(_instance: Any, _args: Args, _kwargs: Kwargs, _result: Any) -> None:
    """A global provider was set: report there from now on."""
    telemetry.refresh()


def tracer_provider_set(_instance: Any, _args: Args, _kwargs: Kwargs, _result: Any) -> None:
    attach()
    telemetry.refresh()


def log_record_bridged(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """A ``logging`` record is about to leave the process: remove exception messages from ours."""
    record: logging.LogRecord = first(args, kwargs, "record")
    if telemetry.error_messages or record.name != log.name:
        return args, kwargs
    return with_first(args, kwargs, "record", without_words(record))


providers = Bindings(
    (
        Signal(module="opentelemetry.trace", name="set_tracer_provider", after=f"{_HERE}:tracer_provider_set"),
        Signal(module="opentelemetry.metrics._internal", name="set_meter_provider", after=f"{_HERE}:provider_set"),
        Signal(module="opentelemetry._logs._internal", name="set_logger_provider", after=f"{_HERE}:provider_set"),
        Signal(
            module="opentelemetry.sdk.trace",
            name="TracerProvider.add_span_processor",
            after="spanhook.engine:joined",
        ),
        *(
            Signal(module=module, name="LoggingHandler.emit", before=f"{_HERE}:log_record_bridged", optional=True)
            for module in ("opentelemetry.sdk._logs._internal", "opentelemetry.instrumentation.logging.handler")
        ),
    )
)
"""Bound while spanhook is instrumented, besides the libraries."""
