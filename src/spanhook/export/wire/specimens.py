"""Whether the encoder here knows all that the SDK has and OpenTelemetry's own encoder encodes, checked on specimens.

That depends on the version of both: a field that is new in either would be missing from what is exported.
"""

from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from spanhook.export.wire.encoders import Ours, Theirs

_POINT = "attributes start_time_unix_nano time_unix_nano exemplars"
_TEMPORAL = "data_points aggregation_temporality"
_KNOWN = {
    "ReadableSpan": "attributes context dropped_attributes dropped_events dropped_links end_time events"
    " get_span_context instrumentation_info instrumentation_scope kind links name parent resource start_time status",
    "Event": "attributes dropped_attributes name timestamp",
    "Link": "attributes context dropped_attributes",
    "Status": "description is_ok is_unset status_code",
    "SpanContext": "count index is_remote is_valid span_id trace_flags trace_id trace_state",
    "Resource": "attributes create get_empty merge schema_url",
    "InstrumentationScope": "attributes name schema_url version",
    "ReadableLogRecord": "dropped_attributes instrumentation_scope limits log_record resource",
    "LogRecord": "attributes body context event_name exception observed_timestamp severity_number severity_text"
    " span_id timestamp trace_flags trace_id",
    "MetricsData": "resource_metrics",
    "ResourceMetrics": "resource scope_metrics schema_url",
    "ScopeMetrics": "scope metrics schema_url",
    "Metric": "name description unit data",
    "Gauge": "data_points",
    "Sum": f"{_TEMPORAL} is_monotonic",
    "Histogram": _TEMPORAL,
    "ExponentialHistogram": _TEMPORAL,
    "NumberDataPoint": f"{_POINT} value",
    "HistogramDataPoint": f"{_POINT} count sum bucket_counts explicit_bounds min max",
    "ExponentialHistogramDataPoint": f"{_POINT} count sum scale zero_count positive negative flags min max",
    "Buckets": "offset bucket_counts",
    "Exemplar": "filtered_attributes value time_unix_nano span_id trace_id",
}
"""The public names of the SDK's classes, except ``to_json``."""

_RESOURCE = Resource(
    {"text": "a", "texts": ["a", "b"], "number": 1, "half": 0.5, "yes": True}, "https://resource.schema"
)
_SCOPE = InstrumentationScope("scope", "1", "https://scope.schema", {"text": "a"})
_CONTEXT = SpanContext(1 << 127, 1 << 63, True, TraceFlags(1), TraceState([("one", "1"), ("two", "2")]))


def agreed(signal: str, theirs: Theirs, ours: Ours) -> Any:
    """The class of a signal's messages, if both encode specimens alike, and the SDK has no names but those known here.

    Returns:
        The class, or ``None``.
    """
    specimens, parts = _SPECIMENS[signal]()
    if any(_names(one) - set(_KNOWN.get(type(one).__name__, "").split()) for one in parts):
        return None
    expected: Any = theirs(specimens)
    message: Any = expected.__class__
    return message if message.FromString(ours(specimens)) == expected else None


def _names(given: Any) -> set[str]:
    return {name for name in dir(given) if not name.startswith("_")} - {"to_json"}


_GIVEN = BoundedAttributes(attributes={"text": "b", "flags": (True, False), "one": 1, "half": 0.5})
_DROPPED = BoundedAttributes(0, {"dropped": 1})


def _spans() -> tuple[Any, list[Any]]:
    bounded: Any = BoundedList
    events = [Event("event", _GIVEN, 3), Event("event", _DROPPED, 3)]
    links = [Link(_CONTEXT, _GIVEN), Link(_CONTEXT, _DROPPED)]
    status = Status(StatusCode.ERROR, "broken")
    span = ReadableSpan(
        "span",
        _CONTEXT,
        SpanContext(1, 2, True),
        _RESOURCE,
        _GIVEN,
        bounded.from_seq(2, [*events, *events]),
        bounded.from_seq(2, [*links, *links]),
        SpanKind.CLIENT,
        status=status,
        start_time=1,
        end_time=2,
        instrumentation_scope=_SCOPE,
    )
    bare = ReadableSpan("", SpanContext(1, 2, False), resource=_RESOURCE, attributes=_DROPPED)
    return [span, bare, span], [span, events[0], links[0], status, _CONTEXT, _RESOURCE, _SCOPE]


def _log_records() -> tuple[Any, list[Any]]:
    inside = set_span_in_context(NonRecordingSpan(_CONTEXT), Context())
    given = LogRecord(
        timestamp=1,
        observed_timestamp=2,
        context=inside,
        severity_text="INFO",
        severity_number=SeverityNumber.INFO,
        body={"map": {"numbers": [1, 2.5]}, "bytes": b"\x00"},
        attributes=_GIVEN,
        event_name="event",
    )
    record = ReadableLogRecord(given, _RESOURCE, _SCOPE)
    bare = ReadableLogRecord(LogRecord(context=Context(), observed_timestamp=1, attributes=_DROPPED), _RESOURCE)
    return [record, bare, record], [given, record, _RESOURCE, _SCOPE]


def _metrics() -> tuple[Any, list[Any]]:
    exemplar = Exemplar({"text": "b"}, 1.5, 3, 2, 1)
    given: dict[str, Any] = {
        "attributes": {"text": "a"},
        "start_time_unix_nano": 1,
        "time_unix_nano": 2,
        "exemplars": [exemplar],
    }
    number = NumberDataPoint(**given, value=1)
    spread: dict[str, Any] = {"count": 3, "sum": 4.5, "min": 0.5, "max": 2.5}
    histogram = HistogramDataPoint(**given, **spread, bucket_counts=[1, 2], explicit_bounds=[1.0])
    buckets = Buckets(-1, [1, 300])
    exponential = ExponentialHistogramDataPoint(
        **given, **spread, scale=-2, zero_count=1, positive=buckets, negative=buckets, flags=1
    )
    delta, cumulative = AggregationTemporality.DELTA, AggregationTemporality.CUMULATIVE
    data = [
        Gauge([number]),
        Sum([number, NumberDataPoint({}, 1, 2, 1.5)], delta, True),
        Histogram([histogram], delta),
        ExponentialHistogram([exponential], cumulative),
    ]
    metrics = [Metric("metric", "described", "s", one) for one in data]
    scope = ScopeMetrics(_SCOPE, metrics, "https://scope.schema")
    resource = ResourceMetrics(_RESOURCE, [scope], "https://resource.schema")
    parts = [exemplar, number, histogram, buckets, exponential, *data, metrics[0], scope, resource, _RESOURCE, _SCOPE]
    return MetricsData([resource]), parts


_SPECIMENS = {"traces": _spans, "logs": _log_records, "metrics": _metrics}
