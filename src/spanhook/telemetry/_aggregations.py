"""The SDK's aggregations of a histogram or counter, and adding many measurements to one of them at once.

The SDK has no interface for that, so this reads and writes what it keeps. It gives up wherever something is not as
expected, in ``find``; measurements are then recorded one by one, in the SDK's own way.
"""
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, Literal, NamedTuple

from opentelemetry.context import Context
from opentelemetry.sdk.metrics import _internal as sdk
from opentelemetry.sdk.metrics._internal import aggregation as kinds
from opentelemetry.sdk.metrics._internal import exemplar as exemplars
from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

Chosen = Literal["all", "sampled", "none"]
"""The measurements that can become exemplars: all, those in sampled traces, none."""
Sample = tuple[int, int | None, int]
"""When something was measured, since the epoch in nanoseconds, and the ids of trace and span; without the id of a trace
it cannot become an exemplar.
"""
Value = int | float

_FILTERS: dict[Any, Chosen] = {
    exemplars.AlwaysOnExemplarFilter: "all",
    exemplars.TraceBasedExemplarFilter: "sampled",
    exemplars.AlwaysOffExemplarFilter: "none",
}


class Place(NamedTuple):
    """One aggregation, and where it is kept."""

    aggregation: Any
    kept: Mapping[Any, Any]
    key: Any

    def is_current(self) -> bool:
        """Whether the SDK still uses it."""
        return self.kept.get(self.key) is self.aggregation


class Samples(NamedTuple):
    """When and where the values of a group were measured, as parts of rows.

    Attributes:
        rows: The rows, one after the other.
        starts: Where each begins.
        first: How far after that its sample is.
        candidates: The positions of values that can become exemplars.
    """

    rows: Sequence[Any]
    starts: Sequence[int]
    first: int
    candidates: Sequence[int]

    def at(self, position: int) -> Sample:
        """The sample of the nth value."""
        time_ns, trace_id, span_id = self.rows[
            self.starts[position] + self.first : self.starts[position] + self.first + 3
        ]
        return time_ns, trace_id, span_id


class Pending:
    """Values of one series that are to be added to one aggregation.

    Attributes:
        values: What is left to add.
        offered: Its exemplars have been offered.
    """

    __slots__ = ("_buckets", "attributes", "offered", "place", "samples", "values")

    def __init__(self, place: Place, attributes: Mapping[str, Any], values: Sequence[Value], samples: Samples) -> None:
        self.place, self.attributes = place, attributes
        self.values, self.samples = values, samples
        self.offered = False
        self._buckets: tuple[Any, list[int]] | None = None

    def add(self) -> None:
        """Add the values; if an interrupt stops it, calling it again continues where it stopped."""
        aggregation = self.place.aggregation
        if not self.offered:
            if self.samples.candidates:
                self._offer(aggregation)
            self.offered = True
        if self.values:
            _ADD[type(aggregation)](aggregation, self)

    def buckets(self, boundaries: Sequence[float]) -> list[int]:
        """The bucket of each value."""
        if self._buckets is None or self._buckets[0] != tuple(boundaries):
            self._buckets = tuple(boundaries), [bisect_left(boundaries, value) for value in self.values]
        return self._buckets[1]

    def _offer(self, aggregation: Any) -> None:
        reservoir, candidates = aggregation._reservoir, self.samples.candidates
        if type(aggregation) is kinds._ExponentialBucketHistogramAggregation:  # it has no exemplars of zeros
            candidates = [position for position in candidates if self.values[position]]
        for position in _CHOOSE[type(reservoir)](reservoir, self, candidates):
            sample = self.samples.at(position)
            reservoir.offer(self.values[position], sample[0], self.attributes, context_of(sample))


def consumer_of(instruments: Sequence[Any]) -> Any:
    """What all these instruments send measurements to, if it is the SDK's and can be bypassed, else ``None``."""
    consumers = {id(getattr(one, "_measurement_consumer", None)) for one in instruments}
    consumer = getattr(instruments[0], "_measurement_consumer", None)
    if len(consumers) > 1 or type(consumer) is not SynchronousMeasurementConsumer:
        return None
    if not all(type(one) in (sdk._Histogram, sdk._Counter) for one in instruments):
        return None
    return consumer if chosen_by(consumer) is not None and _as_expected() else None


def chosen_by(consumer: Any) -> Chosen | None:
    """Which measurements can become exemplars; ``None`` if only the filter knows."""
    config: Any = getattr(consumer, "_sdk_config", None)
    chooses: Any = getattr(config, "exemplar_filter", None)
    return _FILTERS.get(type(chooses))


def readers_of(consumer: Any) -> Any:
    """An object that is another one as soon as a reader is added or removed."""
    return consumer._reader_storages


def config_of(instrument: Any) -> Any:
    """What says whether an instrument's meter records anything (``is_enabled``); ``None`` if it always does."""
    return getattr(instrument, "_meter_config", None)


def find(consumer: Any, instrument: Any, attributes: Mapping[str, Any]) -> tuple[Place, ...] | None:
    """Every aggregation of a measurement that has been recorded before; ``None`` if one cannot be added to."""
    found: list[Place] = []
    for storage in consumer._reader_storages.values():
        for match in storage._instrument_view_instrument_matches[instrument]:
            if type(match._aggregation) is kinds._DropAggregation:
                continue
            if getattr(match, "_reset_on_collect", False):
                return None  # from SDK 1.45.2 on: aggregations of deltas are discarded as they are collected
            kept = match._view._attribute_keys
            left = attributes if kept is None else {key: attributes[key] for key in attributes if key in kept}
            # A copy, as other threads add to it. A list of its items is not safe: new tuples can start a collection.
            aggregations: dict[Any, Any] = match._attributes_aggregation.copy()
            key = next((key for key, one in aggregations.items() if one._attributes == left), None)
            aggregation = aggregations.get(key)
            if aggregation is None or type(aggregation) not in _ADD or type(aggregation._reservoir) not in _CHOOSE:
                return None
            if aggregation._instrument_aggregation_temporality is not kinds.AggregationTemporality.DELTA:
                return None
            found.append(Place(aggregation, match._attributes_aggregation, key))
    return tuple(found)


def are_ordinary(values: Sequence[Value]) -> bool:
    """Whether the SDK records all of them without a word."""
    return min(values) >= 0 and isfinite(sum(values))


def context_of(sample: Sample) -> Context:
    """A context with the span of a sample."""
    _, trace_id, span_id = sample
    span = INVALID_SPAN
    if trace_id:
        span = NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=False, trace_flags=TraceFlags(1)))
    return set_span_in_context(span, Context())


def _add_to_buckets(aggregation: Any, pending: Pending) -> None:
    values, added = pending.values, Counter(pending.buckets(aggregation._boundaries))
    with aggregation._lock:
        counts = aggregation._get_empty_bucket_counts() if aggregation._value is None else list(aggregation._value)
        for bucket, count in added.items():
            counts[bucket] += count
        total, low, high = aggregation._sum + sum(values), min(values), max(values)
        low, high = min(low, aggregation._min), max(high, aggregation._max)
        if not aggregation._record_min_max:
            low, high = aggregation._min, aggregation._max
        # No call from here on, so that an interrupt comes either before or after.
        aggregation._value = counts
        aggregation._sum = total
        aggregation._min = low
        aggregation._max = high
        pending.values = ()


def _add_to_sum(aggregation: Any, pending: Pending) -> None:
    with aggregation._lock:
        total = (aggregation._value or 0) + sum(pending.values)
        aggregation._value = total
        pending.values = ()


def _add_one_by_one(aggregation: Any, pending: Pending) -> None:
    values = pending.values = list(pending.values)[::-1]
    while values:
        aggregation.aggregate(_Measured(values.pop()), False)


class _Measured:
    """What an exponential histogram reads of a measurement without an exemplar."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


_ADD: dict[type, Callable[[Any, Pending], None]] = {
    kinds._ExplicitBucketHistogramAggregation: _add_to_buckets,
    kinds._ExponentialBucketHistogramAggregation: _add_one_by_one,
    kinds._SumAggregation: _add_to_sum,
}


def _last_of_each_bucket(reservoir: Any, pending: Pending, candidates: Sequence[int]) -> Collection[int]:
    buckets = pending.buckets(reservoir._boundaries)
    if len(candidates) < len(buckets):
        buckets = [buckets[position] for position in candidates]
    return dict(zip(buckets, candidates, strict=True)).values()


def _some(reservoir: Any, _pending: Pending, candidates: Sequence[int]) -> Collection[int]:
    return random.sample(candidates, min(reservoir._size, len(candidates)))


_CHOOSE: dict[type, Callable[[Any, Pending, Sequence[int]], Collection[int]]] = {
    exemplars.AlignedHistogramBucketExemplarReservoir: _last_of_each_bucket,
    exemplars.SimpleFixedSizeExemplarReservoir: _some,
}


@cache
def _as_expected() -> bool:
    """Whether adding many values at once gives the points that recording each gives, on this version of the SDK."""
    try:
        return all(_agree(kind) for kind in kinds.AggregationTemporality if kind.value)
    except Exception:
        return False


def _agree(temporality: Any) -> bool:
    values = (0.5, 0, 3, 12.25)
    for made in (_made_buckets, _made_sum):
        one, other = made(), made()
        for start_ns in (1, 2):
            for value in values:
                one.aggregate(_Measured(value), False)
            Pending(Place(other, {}, None), {}, values, Samples((), (), 0, ())).add()
            if one.collect(temporality, start_ns) != other.collect(temporality, start_ns):
                return False
    return True


def _made_buckets() -> Any:
    reservoir: Any
    delta, reservoir = kinds.AggregationTemporality.DELTA, exemplars.AlignedHistogramBucketExemplarReservoir
    return kinds._ExplicitBucketHistogramAggregation({}, delta, 0, reservoir, (1.0, 10.0))


def _made_sum() -> Any:
    reservoir: Any
    delta, reservoir = kinds.AggregationTemporality.DELTA, exemplars.SimpleFixedSizeExemplarReservoir
    return kinds._SumAggregation({}, True, delta, 0, reservoir)
