"""OpenTelemetry's own functions that are listened to: providers set late, hooks added to a provider."""

from typing import Any

from spanhook.instrument.engine import Bindings
from spanhook.processor import attach
from spanhook.shape import Args, Kwargs, Signal
from spanhook.telemetry import telemetry

_HERE = "spanhook.instrument.providers"


def provider_set(_instance: Any, _args: Args, _kwargs: Kwargs, _result: Any) -> None:
    """A global provider was set: report there from now on."""
    telemetry.refresh()


def tracer_provider_set(_instance: Any, _args: Args, _kwargs: Kwargs, _result: Any) -> None:
    attach()
    telemetry.refresh()


providers = Bindings(
    (
        Signal(module="opentelemetry.trace", name="set_tracer_provider", after=f"{_HERE}:tracer_provider_set"),
        Signal(module="opentelemetry.metrics._internal", name="set_meter_provider", after=f"{_HERE}:provider_set"),
        Signal(module="opentelemetry._logs._internal", name="set_logger_provider", after=f"{_HERE}:provider_set"),
        Signal(
            module="opentelemetry.sdk.trace",
            name="TracerProvider.add_span_processor",
            after="spanhook.processor:joined",
        ),
    )
)
"""Bound as long as spanhook is instrumented, beside the libraries."""
