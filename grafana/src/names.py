"""Names as Prometheus, Loki and Tempo have them, of what spanhook calls by its OpenTelemetry name.

The metric rules are those of Prometheus' OTLP receiver under ``UnderscoreEscapingWithSuffixes``
(https://prometheus.io/docs/guides/opentelemetry/), which ``collector/backends/prometheus.yaml`` sets. Units and kinds
are asked of the instruments, so that no name is written twice.
"""

import re
from typing import Any, Literal

from opentelemetry.metrics import Counter, Histogram, Meter, NoOpMeter, NoOpMeterProvider

from spanhook.config.reporting import Refusals
from spanhook.gating import Gauge, Measure
from spanhook.hooks.approval._figures import Figures
from spanhook.hooks.audit_log import AuditLog
from spanhook.hooks.budget import Budget
from spanhook.hooks.circuit_breaker import Circuit, CircuitBreaker, Rules
from spanhook.hooks.injection_scan import InjectionScan
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.hooks.remote_policy._figures import Figures as PolicyFigures
from spanhook.jobs.figures import Figures as JobFigures
from spanhook.schedules import Scheduler
from spanhook.store import open_approvals
from spanhook.telemetry import Snapshot
from spanhook.telemetry.metrics import Instruments

Sort = Literal["counter", "gauge", "histogram"]
Part = Literal["", "_bucket", "_count", "_sum"]

_UNITS = {"s": "seconds", "ms": "milliseconds", "By": "bytes", "%": "percent", "1": "ratio"}


def label(attribute: str) -> str:
    """The label of an attribute, in Prometheus and in Loki."""
    return re.sub(r"[^A-Za-z0-9_]", "_", attribute)


def prometheus_name(metric: str, unit: str, sort: Sort) -> str:
    """A metric's name behind Prometheus' OTLP receiver.

    Args:
        metric: Its OpenTelemetry name.
        unit: Its unit in UCUM. Text in braces is an annotation and is dropped.
        sort: Its type; the unit ``1`` appears only in the names of gauges.

    Raises:
        ValueError: The unit is compound, which no instrument here has.
    """
    if "/" in unit:
        raise ValueError(f"unit {unit!r} of {metric!r}: compound units are not translated here")
    words = [word for word in re.split(r"[^A-Za-z0-9]+", metric) if word]
    if unit and not unit.startswith("{") and (unit != "1" or sort == "gauge"):
        words += [word for word in [_UNITS.get(unit, unit)] if word not in words]
    if sort == "counter":
        words = [word for word in words if word != "total"] + ["total"]
    return "_".join(words)


class _Catalogue(NoOpMeter):
    """A meter that keeps what it is asked to make."""

    def __init__(self) -> None:
        super().__init__("catalogue")
        self.made: dict[str, tuple[str, Sort]] = {}

    def create_histogram(self, name: str, unit: str = "", *_: Any, **__: Any) -> Histogram:
        self.made[name] = (unit, "histogram")
        return super().create_histogram(name, unit)

    def create_counter(self, name: str, unit: str = "", *_: Any, **__: Any) -> Counter:
        self.made[name] = (unit, "counter")
        return super().create_counter(name, unit)

    def create_observable_counter(self, name: str, callbacks: Any = None, unit: str = "", description: str = "") -> Any:  # noqa: ARG002
        self.made[name] = (unit, "counter")

    def create_observable_gauge(self, name: str, callbacks: Any = None, unit: str = "", description: str = "") -> Any:  # noqa: ARG002
        self.made[name] = (unit, "gauge")


class _Catalogued(NoOpMeterProvider):
    def __init__(self) -> None:
        self.catalogue = _Catalogue()

    def get_meter(self, *_: Any, **__: Any) -> Meter:
        return self.catalogue


async def _nothing(*_: Any) -> None:
    """What schedules here would run."""


def _instruments() -> dict[str, tuple[str, Sort]]:
    provider = _Catalogued()
    Instruments(provider, Snapshot(taken=False), {})
    others = (
        Budget(tokens=1),
        Figures(open_approvals("memory://")),
        AuditLog(),
        CircuitBreaker(),
        InjectionScan(),
        PIIRedaction(),
        PolicyFigures(Circuit(Rules(1, None, 1, 1, 1, 1), "")),
        JobFigures(),
        Scheduler([], _nothing),
        Refusals(),
    )
    for made in others:
        for one in vars(made).values():
            if isinstance(one, Measure | Gauge):
                one.on(provider)
    return provider.catalogue.made


INSTRUMENTS = _instruments()
"""Unit and kind of every instrument of spanhook's, and of the ready-made hooks, jobs, schedules and configuration that
dashboards show, by its OpenTelemetry name."""


def metric(name: str, part: Part = "") -> str:
    """What Prometheus calls an instrument of spanhook's.

    Args:
        name: Its OpenTelemetry name, from ``semconv``.
        part: Which series of a histogram.

    Raises:
        KeyError: There is no such instrument.
        ValueError: A part was given for another type than a histogram, or none for a histogram.
    """
    unit, sort = INSTRUMENTS[name]
    if (sort == "histogram") != bool(part):
        raise ValueError(f"{name!r} is a {sort}, part {part!r} does not fit")
    return prometheus_name(name, unit, sort) + part
