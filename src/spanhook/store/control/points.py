"""Data points of metrics of OTLP as rows."""

import json
import math
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from spanhook.store.control.attributes import LARGEST, plain
from spanhook.store.control.columns import MOST, bounded, clean
from spanhook.store.control.facts import Batch, short
from spanhook.store.control.spans import resource_row
from spanhook.store.control.wire import Group, parsed

MOST_POINTS = 10_000
"""Data points of one metric; more are rejected."""


def decode_metrics(groups: Iterable[Group], owner: str, now_ns: int) -> Batch:
    """The data points of a request; as ``decode_spans``. One that is received again replaces itself."""
    batch = Batch()
    for resource_data, scope_data, records in groups:
        digest, _ = resource_row(batch, resource_data, now_ns)
        for data in records:
            _add(batch, data, owner, digest, scope_data, now_ns)
    return batch


def _add(batch: Batch, data: bytes, owner: str, resource: bytes, scope: bytes, now_ns: int) -> None:
    if len(data) > LARGEST:
        batch.received += 1
        batch.reject(f"a metric has more than {LARGEST} bytes")
        return
    metric = parsed(Metric, data, "metric")
    sort = metric.WhichOneof("data")
    if sort is None:
        return
    points: Any = getattr(metric, sort).data_points
    batch.received += len(points)
    if len(points) > MOST_POINTS:
        batch.rejected += len(points)
        batch.complaint = batch.complaint or f"a metric has more than {MOST_POINTS} data points"
        return
    name, unit = short(metric.name), short(metric.unit)
    for point in points:
        attributes = {clean(one.key): plain(one.value) for one in point.attributes}
        shown = json.dumps(attributes, sort_keys=True, separators=(",", ":"))
        told = repr((owner, resource, scope, metric.name, metric.unit, sort, shown))
        series = blake2b(told.encode("utf-8", "replace"), digest_size=16).digest()
        value = json.dumps(_value(point), separators=(",", ":"))
        time_ns = min(point.time_unix_nano, MOST)
        batch.metrics.append((series, time_ns, owner, name, unit, sort, shown, value, resource, now_ns))
        batch.size += len(value) + len(shown) + 1_000


def _value(point: Any) -> Any:
    """A number, or for histograms and summaries an object of what they have."""
    if point.DESCRIPTOR.name == "NumberDataPoint":
        sort = point.WhichOneof("value")
        return None if sort is None else _number(getattr(point, sort))
    found: dict[str, Any] = {"count": bounded(point.count), "sum": _number(point.sum)}
    for name in ("min", "max"):
        if name in point.DESCRIPTOR.fields_by_name and point.HasField(name):
            found[name] = _number(getattr(point, name))
    if point.DESCRIPTOR.name == "HistogramDataPoint":
        found["bounds"] = [_number(one) for one in point.explicit_bounds]
        found["counts"] = [bounded(one) for one in point.bucket_counts]
    return found


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
