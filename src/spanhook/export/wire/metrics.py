"""Metrics as OTLP's ``Metric``; see ``opentelemetry/proto/metrics/v1/metrics.proto``."""

from collections.abc import Callable, Sequence
from struct import Struct, pack
from typing import Any

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    Sum,
)

from spanhook.export.wire.requests import joined
from spanhook.export.wire.values import attributes, count, delimited, name, varint

_TIME = Struct("<BQ").pack
_TIMES = Struct("<BQBQ").pack
_TIMES_AND_COUNT = Struct("<BQBQBQ").pack
_INTEGER = Struct("<Bq").pack
_DOUBLE = Struct("<Bd").pack


def metrics(data: MetricsData) -> bytes:
    """An export request.

    Raises:
        Exception: Something about a metric is not encoded here.
    """
    groups = {
        resource.resource: {scope.scope: [_metric(one) for one in scope.metrics] for scope in resource.scope_metrics}
        for resource in data.resource_metrics
    }
    return joined((resource, scopes.items()) for resource, scopes in groups.items())


def _metric(given: Metric) -> bytes:
    parts = [b"\x0a", name(given.name)]
    if given.description:
        parts += b"\x12", name(given.description)
    if given.unit:
        parts += b"\x1a", name(given.unit)
    tag, encode = _DATA[type(given.data)]
    if given.data.data_points:  # the SDK's encoder leaves out data without points
        parts += tag, delimited(encode(given.data))
    return b"".join(parts)


def _gauge(given: Gauge) -> bytes:
    return _points(_number, [(one, _TIME(0x19, one.time_unix_nano)) for one in given.data_points])


def _sum(given: Sum) -> bytes:
    points = [(one, _TIMES(0x11, one.start_time_unix_nano, 0x19, one.time_unix_nano)) for one in given.data_points]
    return _points(_number, points) + _temporality(given) + (b"\x18\x01" if given.is_monotonic else b"")


def _histogram(given: Histogram) -> bytes:
    return _points(_buckets, [(one, _timed(one)) for one in given.data_points]) + _temporality(given)


def _exponential_histogram(given: ExponentialHistogram) -> bytes:
    return _points(_exponential, [(one, _timed(one)) for one in given.data_points]) + _temporality(given)


_DATA: dict[type, tuple[bytes, Callable[[Any], bytes]]] = {
    Gauge: (b"\x2a", _gauge),
    Sum: (b"\x3a", _sum),
    Histogram: (b"\x4a", _histogram),
    ExponentialHistogram: (b"\x52", _exponential_histogram),
}


def _points(encode: Callable[[Any, bytes], bytes], timed: list[tuple[Any, bytes]]) -> bytes:
    return b"".join([b"\x0a" + delimited(encode(point, times)) for point, times in timed])


def _timed(given: HistogramDataPoint | ExponentialHistogramDataPoint) -> bytes:
    return _TIMES_AND_COUNT(0x11, given.start_time_unix_nano, 0x19, given.time_unix_nano, 0x21, given.count)


def _temporality(given: Sum | Histogram | ExponentialHistogram) -> bytes:
    return b"\x10" + count(given.aggregation_temporality)


def _number(given: NumberDataPoint, times: bytes) -> bytes:
    return b"".join(
        (
            times,
            _value(0x21, 0x31, given.value),
            _exemplars(b"\x2a", given.exemplars),
            attributes(b"\x3a", given.attributes),
        )
    )


def _buckets(given: HistogramDataPoint, times: bytes) -> bytes:
    counts, bounds = given.bucket_counts, given.explicit_bounds
    return b"".join(
        (
            times,
            _double(0x29, given.sum),
            b"\x32" + delimited(pack(f"<{len(counts)}Q", *counts)),
            b"\x3a" + delimited(pack(f"<{len(bounds)}d", *bounds)),
            _exemplars(b"\x42", given.exemplars),
            attributes(b"\x4a", given.attributes),
            _double(0x59, given.min),
            _double(0x61, given.max),
        )
    )


def _exponential(given: ExponentialHistogramDataPoint, times: bytes) -> bytes:
    return b"".join(
        (
            attributes(b"\x0a", given.attributes),
            times,
            _double(0x29, given.sum),
            b"\x30" + _zigzag(given.scale),
            _TIME(0x39, given.zero_count),
            _range(b"\x42", given.positive),
            _range(b"\x4a", given.negative),
            b"\x50" + count(given.flags),
            _exemplars(b"\x5a", given.exemplars),
            _double(0x61, given.min),
            _double(0x69, given.max),
        )
    )


def _range(tag: bytes, given: Any) -> bytes:
    if not given.bucket_counts:
        return b""
    counts = b"".join(map(_long, given.bucket_counts))
    return tag + delimited(b"\x08" + _zigzag(given.offset) + b"\x12" + delimited(counts))


def _exemplars(tag: bytes, given: Sequence[Exemplar]) -> bytes:
    return b"".join([tag + delimited(_exemplar(one)) for one in given])


def _exemplar(given: Exemplar) -> bytes:
    parts = [
        _TIME(0x11, given.time_unix_nano),
        _value(0x19, 0x31, given.value),
        attributes(b"\x3a", given.filtered_attributes),
    ]
    if given.span_id is not None and given.trace_id is not None:
        parts += b"\x22\x08", given.span_id.to_bytes(8), b"\x2a\x10", given.trace_id.to_bytes(16)
    return b"".join(parts)


def _value(double: int, integer: int, given: float) -> bytes:
    kind = type(given)
    if kind is int:
        return _INTEGER(integer, given)
    if kind is float:
        return _DOUBLE(double, given)
    raise TypeError(kind)


def _double(tag: int, given: float | None) -> bytes:
    return b"" if given is None else _DOUBLE(tag, given)


def _zigzag(given: int) -> bytes:
    if not -(1 << 31) <= given < 1 << 31:
        raise OverflowError(given)
    return varint(given << 1 if given >= 0 else (-given << 1) - 1)


def _long(given: int) -> bytes:
    if not 0 <= given < 1 << 64:
        raise OverflowError(given)
    return varint(given)
