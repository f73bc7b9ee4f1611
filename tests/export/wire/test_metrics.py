"""Metrics are what OpenTelemetry's own encoder makes of them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import AlwaysOnExemplarFilter, Counter, Exemplar, MeterProvider
from opentelemetry.sdk.metrics import Histogram as HistogramInstrument
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from spanhook.export.wire import encoders
from spanhook.export.wire.metrics import metrics
from tests.export.wire import drawn
from tests.export.wire.comparing import never, same

times = st.integers(0, 2**64 - 1)
numbers = drawn.integers | st.floats()
counts = st.integers(0, 2**64 - 1)
exemplars = st.lists(
    st.builds(
        Exemplar,
        drawn.known_attributes,
        numbers,
        times,
        st.none() | st.integers(0, 2**64 - 1),
        st.none() | st.integers(0, 2**128 - 1),
    ),
    max_size=2,
)
temporalities = st.sampled_from(AggregationTemporality)
spread = {
    "min": st.none() | st.floats(),
    "max": st.none() | st.floats(),
    "sum": st.none() | st.floats() | st.integers(0, 9),
}
number_points = st.builds(NumberDataPoint, drawn.known_attributes, times, times, numbers, exemplars)
histogram_points = st.builds(
    HistogramDataPoint,
    drawn.known_attributes,
    times,
    times,
    count=counts,
    bucket_counts=st.lists(counts, max_size=4),
    explicit_bounds=st.lists(st.floats() | st.integers(0, 9), max_size=4),
    exemplars=exemplars,
    **spread,
)
offsets = st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2)
buckets = st.builds(Buckets, offsets, st.lists(counts, max_size=4))
exponential_points = st.builds(
    ExponentialHistogramDataPoint,
    drawn.known_attributes,
    times,
    times,
    count=counts,
    scale=offsets,
    zero_count=counts,
    positive=buckets,
    negative=buckets,
    flags=st.integers(0, 2**32 - 1),
    exemplars=exemplars,
    **spread,
)
data = st.one_of(
    st.builds(Gauge, st.lists(number_points, max_size=2)),
    st.builds(Sum, st.lists(number_points, max_size=2), temporalities, st.booleans()),
    st.builds(Histogram, st.lists(histogram_points, max_size=2), temporalities),
    st.builds(ExponentialHistogram, st.lists(exponential_points, max_size=2), temporalities),
)
one_metric = st.builds(Metric, drawn.texts, st.none() | drawn.texts, st.none() | drawn.texts, data)
scopes = st.builds(
    ScopeMetrics,
    st.builds(InstrumentationScope, drawn.texts, st.none() | drawn.texts, drawn.urls, drawn.plain_attributes),
    st.lists(one_metric, max_size=3),
    st.just(""),
)
collected = st.builds(
    MetricsData,
    st.lists(st.builds(ResourceMetrics, drawn.resources, st.lists(scopes, max_size=2), st.just("")), max_size=2),
)


def ours(given_data: MetricsData) -> bytes:
    """As behind an exporter: by the encoder here, if it knows all, and by the other one otherwise."""
    try:
        return encoders.metrics(never)(given_data)
    except Exception:
        return encode_metrics(given_data).SerializeToString()


@given(collected)
def test_what_is_known_is_encoded_alike(given_data: MetricsData) -> None:
    same(encode_metrics, encoders.metrics(never), given_data)


@given(drawn.texts | drawn.odd_texts, drawn.attributes, numbers | drawn.huge, st.integers(-1, 2**65))
def test_what_is_not_known_is_encoded_alike(name: str, attributes: Any, value: float, count: int) -> None:
    points = [NumberDataPoint(attributes, 1, 2, value)]
    spread = [HistogramDataPoint({}, 1, count, count, value, [count], [value], value, value)]
    metrics = [
        Metric(name, None, None, one) for one in (Gauge(points), Histogram(spread, AggregationTemporality.DELTA))
    ]
    for one in metrics:
        scope = ScopeMetrics(InstrumentationScope("scope"), [one], "")
        same(encode_metrics, ours, MetricsData([ResourceMetrics(Resource({}), [scope], "")]))


def test_what_the_sdk_collects_needs_no_other_encoder() -> None:
    delta = {Counter: AggregationTemporality.DELTA, HistogramInstrument: AggregationTemporality.DELTA}
    views = [View(instrument_name="spread", aggregation=ExponentialBucketHistogramAggregation())]
    for preferred in ({}, delta):
        reader = InMemoryMetricReader(preferred_temporality=preferred)
        provider = MeterProvider(
            [reader], Resource({"service.name": "one"}), AlwaysOnExemplarFilter(), shutdown_on_exit=False, views=views
        )
        _record(provider)
        collected_data: Any = reader.get_metrics_data()
        message = encode_metrics(collected_data)
        assert type(message).FromString(metrics(collected_data)) == message
        assert len(message.resource_metrics[0].scope_metrics[0].metrics) == 5
        provider.shutdown()


def _record(provider: MeterProvider) -> None:
    def observe(_: CallbackOptions) -> list[Observation]:
        return [Observation(1.5, {"of": "a"})]

    meter = provider.get_meter("meter", "1", "https://schema")
    counter = meter.create_counter("calls", "{call}", "How many calls")
    histograms = [meter.create_histogram(name, "s") for name in ("time", "spread")]
    meter.create_observable_gauge("level", [observe])
    meter.create_up_down_counter("running").add(-2)
    with TracerProvider(shutdown_on_exit=False).get_tracer("tracer").start_as_current_span("one"):
        for number in range(5):
            counter.add(1, {"model": "a", "number": number})
            for histogram in histograms:
                histogram.record(0.1 * number, {"model": "a"})
