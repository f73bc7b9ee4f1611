"""Metrics that hooks record themselves."""

import gc
from collections.abc import Iterator
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import spanhook
from spanhook.gating import Measures


def _read(reader: InMemoryMetricReader) -> dict[str, Any]:
    data = reader.get_metrics_data()
    if data is None:
        return {}
    return {
        f"{scope.scope.name}/{metric.name}": [
            (dict(point.attributes or {}), getattr(point, "value", getattr(point, "sum", None)))
            for point in metric.data.data_points
        ]
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name.startswith("spanhook.hooks")
        for metric in scope.metrics
    }


def test_hooks_record_on_the_provider_that_spanhook_reports_to() -> None:
    measures = Measures("budget")
    count, set_level, time = (
        measures.counter("a", "{call}", "A"),
        measures.gauge("b", "1", "B"),
        measures.histogram("c", "s", "C"),
    )
    count(1)  # nothing is instrumented yet, so it goes nowhere
    first, second = InMemoryMetricReader(), InMemoryMetricReader()
    spanhook.instrument(only=[], meter_provider=MeterProvider([first]))
    count(2, {"x": "y"})
    set_level(0.5)
    time(3.0)
    spanhook.instrument(only=[], meter_provider=MeterProvider([second]))
    count(4)

    assert _read(first) == {
        "spanhook.hooks.budget/a": [({"x": "y"}, 2)],
        "spanhook.hooks.budget/b": [({}, 0.5)],
        "spanhook.hooks.budget/c": [({}, 3.0)],
    }
    assert _read(second) == {"spanhook.hooks.budget/a": [({}, 4)]}


def test_a_gauge_is_reported_until_its_hook_is_gone() -> None:
    reader = InMemoryMetricReader()
    spanhook.instrument(only=[], meter_provider=MeterProvider([reader]))
    level = Measures("budget").gauge("a", "1", "A")
    level(0.5, {"x": "y"})
    level(0.7, {"x": "z"})
    level(0.6, {"x": "y"})
    for _ in range(2):
        assert _read(reader) == {"spanhook.hooks.budget/a": [({"x": "y"}, 0.6), ({"x": "z"}, 0.7)]}
    del level
    gc.collect()
    assert _read(reader) == {}


def test_a_provider_of_ones_own_is_used_in_any_case() -> None:
    mine, other = InMemoryMetricReader(), InMemoryMetricReader()
    count = Measures("budget", MeterProvider([mine])).counter("a", "{call}", "A")
    spanhook.instrument(only=[], meter_provider=MeterProvider([other]))
    count(1)

    assert _read(mine) == {"spanhook.hooks.budget/a": [({}, 1)]}
    assert _read(other) == {}


class Tank:
    """Shows how full it is."""

    def __init__(self, name: str, measures: Measures) -> None:
        self.name, self.level = name, 0.0
        self.watched = measures.watched("level", "1", "How full", self._look)

    def _look(self) -> Iterator[tuple[float, dict[str, str]]]:
        yield self.level, {"tank": self.name}


def test_a_gauge_is_asked_for_what_it_shows_now() -> None:
    reader = InMemoryMetricReader()
    spanhook.instrument(only=[], meter_provider=MeterProvider([reader]))
    measures = Measures("tanks")
    one, other = Tank("one", measures), Tank("other", measures)
    assert _read(reader) == {}  # nobody has said that it is in use
    one.watched()
    one.watched()
    other.watched()
    one.level = 0.5
    found = [({"tank": "one"}, 0.5), ({"tank": "other"}, 0.0)]
    assert _read(reader) == {"spanhook.hooks.tanks/level": found}
    one.level = 0.25
    assert _read(reader)["spanhook.hooks.tanks/level"][0] == ({"tank": "one"}, 0.25)

    second = InMemoryMetricReader()
    spanhook.instrument(only=[], meter_provider=MeterProvider([second]))
    one.watched()
    assert _read(second) == {"spanhook.hooks.tanks/level": [({"tank": "one"}, 0.25)]}


def test_a_gauge_shows_nothing_of_a_hook_that_is_gone() -> None:
    reader = InMemoryMetricReader()
    spanhook.instrument(only=[], meter_provider=MeterProvider([reader]))
    measures = Measures("tanks")
    one, other = Tank("one", measures), Tank("other", measures)
    one.watched()
    other.watched()
    del one
    gc.collect()
    assert _read(reader) == {"spanhook.hooks.tanks/level": [({"tank": "other"}, 0.0)]}
