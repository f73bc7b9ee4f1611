"""Aggregations of the SDK that cannot be added to, that are replaced, or that are somebody else's."""

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpHistogram
from opentelemetry.sdk.metrics import ExemplarFilter, SimpleFixedSizeExemplarReservoir
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.metrics.view import LastValueAggregation, View
from opentelemetry.trace import get_current_span

from spanhook.telemetry._measurements import Measurements, tell
from tests.telemetry.test_measurements import SPANS, Side, counted, made


def put(measurements: Measurements, side: Side, times: int = 3) -> None:
    where, describe = measurements.sample(SPANS[1]), partial(side.described, {"model": "a"})
    for _ in range(times):
        measurements.put(("a",), where, (1.0, 2, 1), describe)


@contextmanager
def in_each_collection(act: Callable[[], None]) -> Generator[None]:
    """Garbage is collected as often as can be, and each time something else goes on, as other threads would."""
    before, acting = gc.get_threshold(), list[None]()
    held = [(number, number) for number in range(3_000)]  # no freed tuple is left, so that each new one can start it

    def collected(phase: str, _info: Any) -> None:
        if phase == "stop" and not acting:
            acting.append(None)
            act()
            acting.clear()

    gc.callbacks.append(collected)
    gc.set_threshold(1, 1_000_000, 1_000_000)  # only what has just been made
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
        held.clear()


def test_other_attributes_come_while_aggregations_are_looked_for() -> None:
    side, numbers = made([]), count()
    measurements = Measurements(side.instruments)
    for number in range(500):
        for instrument in side.instruments:
            tell(instrument, 1, {"model": str(number)}, Context())
    consumer: Any = measurements._consumer
    storages: Any = consumer._reader_storages.values()
    kept = [one._instrument_view_instrument_matches[side.instruments[0]][0]._attributes_aggregation for one in storages]
    one = next(iter(kept[0].values()))

    def another() -> None:  # without the SDK's lock, which this thread may hold
        for aggregations in kept:
            aggregations[f"another {next(numbers)}"] = one

    with in_each_collection(another):
        put(measurements, side)
    assert len(measurements._rows) == 2 * 7
    assert next(numbers) > 10


class Always(ExemplarFilter):
    """Somebody else's filter."""

    def should_sample(self, value: float, time_unix_nano: int, attributes: Any, context: Any) -> bool:
        return True


def of_their_own(_aggregation: Any) -> Any:
    class Reservoir(SimpleFixedSizeExemplarReservoir):
        pass

    return lambda **_options: Reservoir(1)  # pyright: ignore[reportUnknownLambdaType]


@pytest.mark.parametrize(
    "side",
    [
        made([], Always()),
        made([View(instrument_name="seconds", exemplar_reservoir_factory=of_their_own)]),
        made([View(instrument_name="seconds", aggregation=LastValueAggregation())]),
    ],
    ids=["exemplar filter", "exemplar reservoir", "aggregation"],
)
def test_what_cannot_be_added_to_is_recorded_as_usual(side: Side) -> None:
    measurements = Measurements(side.instruments)
    put(measurements, side)
    assert not measurements._rows
    assert counted(side.readers[1])[1:] == [3, 3]


def test_instruments_of_another_sdk_are_recorded_on_as_usual() -> None:
    recorded: list[Any] = []

    class Theirs(NoOpHistogram):
        def record(self, amount: float, attributes: Any = None, context: Any = None) -> None:
            recorded.append((amount, attributes, get_current_span(context)))

    instrument = Theirs("seconds")
    measurements = Measurements([instrument])
    for _ in range(2):
        measurements.put(("a",), measurements.sample(SPANS[1]), (1.0,), lambda: [(instrument, {"model": "a"})])
    measurements.fold()
    assert recorded == [(1.0, {"model": "a"}, SPANS[1])] * 2


def test_aggregations_that_the_sdk_has_replaced_are_found_again() -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    put(measurements, side)
    consumer = side.instruments[0]._measurement_consumer
    for storage in consumer._reader_storages.values():
        for match in storage._instrument_view_instrument_matches[side.instruments[0]]:
            match._attributes_aggregation.clear()  # what was recorded before is gone; nothing else may be
    measurements.fold()
    assert [counted(reader) for reader in side.readers] == [[2, 3, 3]] * 2
    put(measurements, side)
    measurements.fold()
    assert counted(side.readers[1]) == [5, 6, 6]


def test_readers_come_and_go() -> None:
    side, late = made([]), InMemoryMetricReader()
    measurements = Measurements(side.instruments)
    put(measurements, side)
    measurements.fold()
    consumer = side.instruments[0]._measurement_consumer
    if not hasattr(consumer, "add_metric_reader"):  # the oldest SDK
        return
    consumer.add_metric_reader(late)
    late._set_collect_callback(consumer.collect)
    put(measurements, side)
    measurements.fold()
    put(measurements, side)
    measurements.fold()
    assert counted(late) == [6, 6, 6]
    consumer.remove_metric_reader(side.readers[0])
    put(measurements, side)
    measurements.fold()
    assert counted(side.readers[1]) == [12, 12, 12]
    assert counted(late) == [9, 9, 9]


def test_a_meter_that_is_switched_off_records_nothing() -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    put(measurements, side)
    config = side.instruments[0].__dict__.get("_meter_config")
    if config is None:  # the oldest SDK
        return
    config._config.is_enabled = False
    put(measurements, side)
    config._config.is_enabled = True
    put(measurements, side)
    measurements.fold()
    assert counted(side.readers[1]) == [6, 6, 6]
