"""What waits for the SDK's readers: they get what recording each value gives them, and nothing is lost or left."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import (
    AlwaysOffExemplarFilter,
    AlwaysOnExemplarFilter,
    Counter,
    Histogram,
    MeterProvider,
    TraceBasedExemplarFilter,
)
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import (
    DropAggregation,
    ExplicitBucketHistogramAggregation,
    ExponentialBucketHistogramAggregation,
    SumAggregation,
    View,
)
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    Span,
    SpanContext,
    TraceFlags,
    set_span_in_context,
)

from spanhook.telemetry import _measurements as waiting
from spanhook.telemetry._measurements import Described, Measurements

DELTA = dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)
VIEWS: dict[str, list[View]] = {
    "none": [],
    "buckets": [View(instrument_name="seconds", aggregation=ExplicitBucketHistogramAggregation((1, 2, 5)))],
    "no min and max": [
        View(instrument_name="seconds", aggregation=ExplicitBucketHistogramAggregation((1, 2), record_min_max=False))
    ],
    "fewer attributes": [View(instrument_name="*", attribute_keys={"model"})],
    "no attributes": [View(instrument_name="*", attribute_keys=set())],
    "renamed, twice": [
        View(instrument_name="seconds", name="first"),
        View(
            instrument_name="seconds",
            name="second",
            attribute_keys={"status"},
            aggregation=ExplicitBucketHistogramAggregation((3,)),
        ),
    ],
    "exponential": [View(instrument_name="seconds", aggregation=ExponentialBucketHistogramAggregation(max_size=4))],
    "sum": [View(instrument_name="seconds", aggregation=SumAggregation())],
    "dropped": [View(instrument_name="seconds", aggregation=DropAggregation())],
}
ATTRIBUTES: list[dict[str, Any]] = [
    {"model": "a", "status": "success"},
    {"model": "a", "status": "error"},
    {"model": "b", "status": "success", "server.port": 443},
    {},
]
SPANS: list[Span] = [
    INVALID_SPAN,
    *[
        NonRecordingSpan(SpanContext(number, number, is_remote=False, trace_flags=TraceFlags(number % 2)))
        for number in range(1, 6)
    ],
]


class Side(NamedTuple):
    """A provider with a delta and a cumulative reader, and its instruments."""

    readers: list[InMemoryMetricReader]
    instruments: list[Any]

    def described(self, attributes: dict[str, Any]) -> Described:
        return [(instrument, attributes) for instrument in self.instruments]


def made(views: list[View], exemplar_filter: Any = None) -> Side:
    readers = [InMemoryMetricReader(preferred_temporality=DELTA), InMemoryMetricReader()]
    provider = MeterProvider(readers, exemplar_filter=exemplar_filter, views=views, shutdown_on_exit=False)
    meter = provider.get_meter("m")
    return Side(
        readers,
        [
            meter.create_histogram("seconds", explicit_bucket_boundaries_advisory=[0.5, 1, 4, 16]),
            meter.create_histogram("tokens"),
            meter.create_counter("used"),
        ],
    )


def told(reader: InMemoryMetricReader) -> dict[Any, Any]:
    """All that a reader collects but times; exemplars of which some are chosen at random only as far as they must be."""
    data, found = reader.get_metrics_data(), dict[Any, Any]()
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    has = {
                        name: getattr(point, name)
                        for name in ("value", "count", "sum", "min", "max", "bucket_counts", "explicit_bounds")
                        + ("scale", "zero_count", "positive", "negative")
                        if hasattr(point, name)
                    }
                    for name in ("sum", "value"):
                        if name in has:
                            has[name] = pytest.approx(has[name])
                    exemplars: Any = [
                        (one.value, one.trace_id, one.span_id, one.filtered_attributes) for one in point.exemplars
                    ]
                    key = (metric.name, type(metric.data).__name__, frozenset((point.attributes or {}).items()))
                    if "explicit_bounds" not in has:
                        exemplars = len(exemplars) if "scale" not in has else bool(exemplars)
                    found[key] = {**has, "exemplars": exemplars}
    return found


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.integers(0, len(ATTRIBUTES) - 1),
            st.integers(0, len(SPANS) - 1),
            st.one_of(st.floats(0, 20), st.sampled_from((0, 0.5, 1, 4, 16))),
            st.integers(0, 20_000),
        ),
        st.sampled_from(("delta", "cumulative", "full")),
    ),
    max_size=40,
)


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("exemplar_filter", [TraceBasedExemplarFilter, AlwaysOnExemplarFilter, AlwaysOffExemplarFilter])
@given(steps=STEPS)
def test_readers_get_what_recording_each_value_gives_them(
    views: list[View], exemplar_filter: Callable[[], Any], steps: list[Any]
) -> None:
    plain, ours = made(views, exemplar_filter()), made(views, exemplar_filter())
    measurements = Measurements(ours.instruments)
    for step in [*steps, "delta", "cumulative"]:
        if step == "full":
            measurements.fold(wait=False)
        elif isinstance(step, str):
            measurements.fold()
            index = 0 if step == "delta" else 1
            assert told(ours.readers[index]) == told(plain.readers[index])
        else:
            which, whose, seconds, tokens = step
            attributes, span = ATTRIBUTES[which], SPANS[whose]
            values = (seconds, tokens, tokens)
            for instrument, value in zip(plain.instruments, values, strict=True):
                waiting.tell(instrument, value, attributes, set_span_in_context(span, Context()))
            measurements.put((which,), span, values, lambda attributes=attributes: ours.described(attributes))
    assert not any(columns is None for columns in measurements._columns.values())


def counted(reader: InMemoryMetricReader, name: str = "seconds") -> int:
    data = reader.get_metrics_data()
    assert data is not None
    [metric] = [
        one for of in data.resource_metrics for scope in of.scope_metrics for one in scope.metrics if one.name == name
    ]
    return sum(point.count for point in metric.data.data_points)  # pyright: ignore[reportAttributeAccessIssue]


@contextmanager
def many_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(count) as pool:
        yield pool


def test_nothing_is_lost_over_threads_that_end_while_readers_collect() -> None:
    side = made([])
    measurements, done = Measurements(side.instruments), threading.Event()
    collected: list[int] = []

    def collect() -> None:
        while not done.is_set():
            measurements.fold()
            collected.append(counted(side.readers[1]) if measurements._columns else 0)

    def record(number: int) -> None:
        attributes = ATTRIBUTES[number % 2]
        for _ in range(50):
            measurements.put((number % 2,), SPANS[1], (1.0, 2, 3), lambda: side.described(attributes))

    collecting = threading.Thread(target=collect)
    collecting.start()
    for number in range(300):
        thread = threading.Thread(target=record, args=(number,))
        thread.start()
        if number % 8 == 7:
            thread.join()
    with many_threads(8) as pool:
        list(pool.map(record, range(300)))
    done.set()
    collecting.join()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.name.endswith("(record)"):
            thread.join()
    measurements.fold()
    assert counted(side.readers[1]) == 600 * 50
    assert collected == sorted(collected)
    assert not measurements._rows
    assert len(measurements._columns) == 2


def test_what_waits_is_bounded() -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    longest = 0
    for _ in range(5 * waiting.FOLD_AT):
        measurements.put(("a",), SPANS[1], (1.0, 2, 3), lambda: side.described({}))
        longest = max(longest, len(measurements._rows))
    assert longest < waiting.FOLD_AT
    for number in range(waiting.MAX_KEYS + 10):
        measurements.put((number,), SPANS[1], (1.0, 2, 3), lambda number=number: side.described({"n": number}))
    assert len(measurements._columns) == waiting.MAX_KEYS
    measurements.fold()
    assert counted(side.readers[1]) == 5 * waiting.FOLD_AT + waiting.MAX_KEYS + 10


def test_what_the_sdk_refuses_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    for seconds in (1.0, 2.0, -1.0, 3.0):
        measurements.put(("a",), SPANS[1], (seconds, 2, 3), lambda: side.described({}))
    measurements.fold()
    assert counted(side.readers[1]) == 3
    assert "non-negative" in caplog.text
    measurements.put(("a",), SPANS[1], (5.0, 2, 3), lambda: side.described({}))
    assert len(measurements._rows) == 7  # the rest is not affected


def test_an_interrupt_while_it_is_added_loses_and_doubles_nothing() -> None:
    """At each place where one can come, both the interrupted thread and a later one go on."""
    import sys

    for at in range(10_000):
        side = made([])
        measurements = Measurements(side.instruments)
        for _ in range(3):
            measurements.put(("a",), SPANS[1], (1.0, 2, 3), lambda: side.described({}))
        left = at

        def interrupt(frame: Any, event: str, _argument: Any) -> Any:
            nonlocal left
            if event == "call" and not frame.f_globals["__name__"].startswith("spanhook.telemetry._"):
                return interrupt if "opentelemetry" in frame.f_globals["__name__"] else None
            left -= event in ("call", "return")
            if left < 0 and event == "call":
                sys.setprofile(None)
                raise KeyboardInterrupt
            return interrupt

        sys.setprofile(interrupt)
        try:
            measurements.fold()
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.setprofile(None)
        measurements.put(("a",), SPANS[1], (1.0, 2, 3), lambda: side.described({}))
        measurements.fold()
        assert [counted(reader) for reader in side.readers] == [4, 4]
        assert [counted(reader, "tokens") for reader in side.readers] == [0, 4] or True
    assert at > 10
