"""What waits for the SDK's readers: they get what recording each value gives them, and nothing is lost or left."""

import inspect
import os
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
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
from opentelemetry.sdk.metrics._internal._view_instrument_match import _ViewInstrumentMatch
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

import spanhook
from spanhook import semconv
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.telemetry import _measurements as waiting
from spanhook.telemetry._measurements import Described, Measurements
from tests.telemetry.test_metrics import in_a_fork

RESETS = "reset_on_collect" in inspect.signature(_ViewInstrumentMatch).parameters
"""Whether the SDK discards the aggregations of a delta as it collects; measurements do not wait for these."""
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
    "exponential": [View(instrument_name="seconds", aggregation=ExponentialBucketHistogramAggregation())],
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


def made(views: list[View], exemplar_filter: Any = None, *, first: Any = None) -> Side:
    readers = [InMemoryMetricReader(preferred_temporality=first), InMemoryMetricReader()]
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


NUMBERS = ("value", "count", "sum", "min", "max", "bucket_counts", "explicit_bounds", "scale", "zero_count", "positive")


def points(reader: InMemoryMetricReader) -> Iterator[tuple[Any, Any]]:
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data is not None else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    yield metric, point


def told(reader: InMemoryMetricReader, recorded: set[Any] | None = None) -> dict[Any, Any]:
    """All that a reader collects, without times; of exemplars, how many there are, or in which buckets.

    Args:
        recorded: What exemplars can be of: value, id of the trace, attributes.
    """
    found = dict[Any, Any]()
    for metric, point in points(reader):
        has = {name: getattr(point, name) for name in NUMBERS if hasattr(point, name)}
        has.update((name, pytest.approx(has[name])) for name in ("sum", "value") if name in has)
        if "explicit_bounds" in has:
            has["exemplars"] = [bisect_left(point.explicit_bounds, one.value) for one in point.exemplars]
        else:
            has["exemplars"] = bool(point.exemplars)  # which and how many is chosen at random
        found[metric.name, type(metric.data).__name__, frozenset((point.attributes or {}).items())] = has
        for one in point.exemplars:
            attributes = {**point.attributes, **(one.filtered_attributes or {})}
            assert recorded is None or (one.value, one.trace_id, frozenset(attributes.items())) in recorded
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


@pytest.mark.every_combination
@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("exemplar_filter", [TraceBasedExemplarFilter, AlwaysOnExemplarFilter, AlwaysOffExemplarFilter])
@pytest.mark.parametrize("first", [DELTA, None], ids=["delta", "cumulative"])
@settings(max_examples=settings().max_examples // 4)
@given(steps=STEPS)
def test_readers_get_what_recording_each_value_gives_them(
    first: Any, views: list[View], exemplar_filter: Callable[[], Any], steps: list[Any]
) -> None:
    plain, ours = (made(views, exemplar_filter(), first=first) for _ in range(2))
    measurements, recorded = Measurements(ours.instruments), set[Any]()
    is_told = exemplar_filter is TraceBasedExemplarFilter  # without a span, the SDK tells that of the exemplar before
    for step in [*steps, "delta", "cumulative"]:
        if step == "full":
            measurements.fold(wait=False)
        elif isinstance(step, str):
            measurements.fold()
            index = 0 if step == "delta" else 1
            assert told(ours.readers[index], recorded if is_told else None) == told(plain.readers[index])
        else:
            which, whose, seconds, tokens = step
            attributes, span = ATTRIBUTES[which], SPANS[whose]
            if views is VIEWS["exponential"]:
                seconds += 0.01  # between zeros and others, the SDK fails to merge: "Incorrect merge scale"
            values, trace_id = (seconds, tokens, tokens), span.get_span_context().trace_id or None
            recorded.update((value, trace_id, frozenset(attributes.items())) for value in values)
            for instrument, value in zip(plain.instruments, values, strict=True):
                waiting.tell(instrument, value, attributes, set_span_in_context(span, Context()))
            measurements.put(
                (which,), measurements.sample(span), values, lambda attributes=attributes: ours.described(attributes)
            )
    waits = first is None or not RESETS
    assert all((columns is not None) is waits for columns in measurements._columns.values())


def counted(reader: InMemoryMetricReader) -> list[int]:
    """How many values each instrument has recorded, or their sum."""
    found = dict[str, int]()
    for metric, point in points(reader):
        found[metric.name] = found.get(metric.name, 0) + getattr(point, "count", getattr(point, "value", 0))
    return list(found.values())


@pytest.mark.slow
def test_nothing_is_lost_over_threads_that_end_while_readers_collect() -> None:
    side = made([])
    measurements, done = Measurements(side.instruments), threading.Event()
    collected: list[list[int]] = []

    def collect() -> None:
        while not done.is_set():
            measurements.fold()
            collected.append(counted(side.readers[1]))

    def record(number: int) -> None:
        attributes = ATTRIBUTES[number % 2]
        for _ in range(50):
            measurements.put(
                (number % 2,), measurements.sample(SPANS[1]), (1.0, 2, 3), lambda: side.described(attributes)
            )

    collecting = threading.Thread(target=collect)
    collecting.start()
    threads = [threading.Thread(target=record, args=(number,)) for number in range(300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(record, range(300)))
    done.set()
    collecting.join()
    measurements.fold()
    assert counted(side.readers[1]) == [600 * 50, 600 * 50, 3 * 600 * 50]
    assert collected == sorted(collected)
    assert not measurements._rows
    assert len(measurements._columns) == 2


@pytest.mark.slow
def test_what_waits_is_bounded() -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    longest = 0
    for _ in range(5 * waiting.FOLD_AT):
        measurements.put(("a",), measurements.sample(SPANS[1]), (1.0, 2, 3), lambda: side.described({}))
        longest = max(longest, len(measurements._rows))
    assert longest < waiting.FOLD_AT
    for number in range(waiting.MAX_KEYS + 10):
        measurements.put(
            (number,), measurements.sample(SPANS[1]), (1.0, 2, 3), lambda number=number: side.described({"n": number})
        )
    assert len(measurements._columns) == waiting.MAX_KEYS
    measurements.fold()
    assert counted(side.readers[1])[0] == 5 * waiting.FOLD_AT + waiting.MAX_KEYS + 10


def test_what_the_sdk_refuses_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    side = made([])
    measurements = Measurements(side.instruments)
    for seconds in (1.0, 2.0, -1.0, 3.0):
        measurements.put(("a",), measurements.sample(SPANS[1]), (seconds, 2, 3), lambda: side.described({}))
    measurements.fold()
    assert counted(side.readers[1]) == [3, 4, 12]
    assert "non-negative" in caplog.text
    measurements.put(("a",), measurements.sample(SPANS[1]), (5.0, 2, 3), lambda: side.described({}))
    assert len(measurements._rows) == 7  # the rest is not affected


def interrupting(left: int) -> Callable[[Any, str, Any], None]:
    """A profiler that interrupts at the nth place where our code begins or comes back from a call."""

    def interrupt(frame: Any, event: str, _argument: Any) -> None:
        nonlocal left
        if not frame.f_globals["__name__"].startswith("spanhook.telemetry._") or event == "c_call":
            return
        left -= 1
        if left < 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    return interrupt


def test_an_interrupt_while_it_is_added_loses_and_doubles_nothing() -> None:
    at, done = 0, False
    while not done:
        side = made([])
        measurements = Measurements(side.instruments)
        describe = partial(side.described, {})
        for _ in range(3):
            measurements.put(("a",), measurements.sample(SPANS[1]), (1.0, 2, 1), describe)
        sys.setprofile(interrupting(at))
        try:
            measurements.fold()
            done = True
        except KeyboardInterrupt:
            at += 1
        finally:
            sys.setprofile(None)
        measurements.put(("a",), measurements.sample(SPANS[1]), (1.0, 2, 1), describe)
        measurements.fold()
        assert [counted(reader) for reader in side.readers] == [[4, 4, 4]] * 2, at
    assert at > 50


# ------------------------------------------------------------------------------------------------ whole processes


def durations(metrics: Any) -> dict[str, list[int]]:
    """Of each scope, by the process it is forked for: how many model calls were measured."""
    found = dict[str, list[int]]()
    for resource in metrics.resource_metrics if metrics is not None else ():
        for scope in resource.scope_metrics:
            forked = str((scope.scope.attributes or {}).get(semconv.FORKED_PID, ""))
            for metric in scope.metrics:
                if metric.name == semconv.METRIC_CLIENT_DURATION:
                    found[forked] = [point.count for point in metric.data.data_points]
    return found


def test_the_last_collection_has_everything() -> None:
    exported: list[Any] = []

    class Exporter(InMemoryMetricReader):
        """Collects once more when it is shut down, as readers that export do."""

        def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
            exported.append(self.get_metrics_data())
            super().shutdown(timeout_millis, **kwargs)

    provider = MeterProvider([Exporter()], shutdown_on_exit=False)
    spanhook.instrument(meter_provider=provider)
    model = ScriptedChat(body=Body())
    for _ in range(5):
        model.invoke("hi")
    spanhook.uninstrument()
    provider.shutdown()
    assert durations(exported[0]) == {"": [5]}


def test_several_providers_get_what_was_measured_while_they_were_in_use() -> None:
    readers, model = [InMemoryMetricReader(), InMemoryMetricReader()], ScriptedChat(body=Body())
    for number, reader in enumerate(readers):
        spanhook.instrument(meter_provider=MeterProvider([reader], shutdown_on_exit=False))
        for _ in range(3 + number):
            model.invoke("hi")
    assert [durations(reader.get_metrics_data()) for reader in readers] == [{"": [3]}, {"": [4]}]


def forked() -> Any:
    reader, model = InMemoryMetricReader(), ScriptedChat(body=Body())
    spanhook.instrument(meter_provider=MeterProvider([reader], shutdown_on_exit=False))
    for _ in range(3):
        model.invoke("hi")

    def child() -> Any:
        for _ in range(4):
            model.invoke("hi")
        return list(durations(reader.get_metrics_data()).items()), os.getpid()

    found, pid = in_a_fork(child)
    return dict(found)[str(pid)], len(found), durations(reader.get_metrics_data())


def test_a_forked_child_measures_its_own() -> None:
    mine, scopes, parents = in_a_fork(forked)
    assert mine == [4]
    assert scopes == 2  # of its parent, it has what the SDK had; what waited is the parent's alone
    assert list(parents.values()) == [[3]]
