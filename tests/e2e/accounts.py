"""Whether what an application has emitted is accounted for, to the item: arrived, or counted as lost."""

from tests.e2e.figures import Figures
from tests.e2e.programs import until
from tests.e2e.stack import Stack
from tests.e2e.workers import Teller

WAITED = 2.0
"""Seconds that emitting a span or a log record never takes by itself; one that waits for an exporter takes ten."""


def arrived(one: Stack, app: Teller) -> tuple[int, int]:
    """How many log records and spans of the application have arrived, each counted once."""
    logs = [record for record in one.sink.records() if record.resource.get("service.instance.id") == app.instance]
    spans = [span for span in one.sink.spans() if span.resource.get("service.instance.id") == app.instance]
    return len({record.attributes["number"] for record in logs}), len({span.attributes["number"] for span in spans})


def lost(one: Stack, app: Teller) -> tuple[float, float]:
    """How many log records and spans have been counted as lost in the application."""

    def of(kind: str, signal_name: str) -> float:
        full = app.total(one.prometheus, f"otel_sdk_processor_{kind}_processed_total", 'error_type="queue_full"')
        gone = f'spanhook_component="exporter.{signal_name}"'
        return full + app.total(one.prometheus, "spanhook_telemetry_dropped_total", gone)

    return of("log", "logs"), of("span", "traces")


def all_is_accounted_for(one: Stack, app: Teller, fault: str, figures: Figures) -> None:
    """Wait until what was emitted has arrived or is counted as lost; tell of it."""
    made = app.made("logs"), app.made("spans")

    def accounted() -> tuple[float, ...]:
        return tuple(there + gone for there, gone in zip(arrived(one, app), lost(one, app), strict=True))

    try:
        until(lambda: accounted() == made, "account")
    finally:
        for kind, *counts in zip(("log records", "spans"), made, arrived(one, app), lost(one, app), strict=True):
            if counts[0]:
                figures.tell(fault, kind, *counts, slowest=app.slowest)
    assert app.slowest < WAITED


def is_alerting(one: Stack, name: str, **labels: str) -> bool:
    """Whether an alert fires."""
    matchers = ", ".join(f'{key}="{value}"' for key, value in {"alertname": name, **labels}.items())
    return bool(one.prometheus.query(f'ALERTS{{alertstate="firing", {matchers}}}'))
