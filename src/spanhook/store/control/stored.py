"""Spans and log records as they are shown: read back from what was received."""

from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanhook.store.control.attributes import plain

Attributes = dict[str, Any]
_FAILED = 2


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of a span: its name, its time in nanoseconds since the epoch, its attributes."""

    name: str
    time_ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpan:
    """A span.

    Attributes:
        trace_id, span_id, parent_id: Its ids in hexadecimal; the last is empty for a root.
        run_id, tenant_id: Whose it is; empty if it does not say.
        kind, status: As in ``spanhook.kind`` and ``spanhook.status``; empty on spans of other instrumentations.
        name, scope: Its name, and the scope that it comes from.
        start_ns, end_ns: Its times, in nanoseconds since the epoch.
        attributes: Its attributes as plain data, bytes in hexadecimal.
        events: Its events.
        resource: The attributes of its resource.
        failed: Whether its own status is ERROR.
        message: The message of that.
    """

    trace_id: str
    span_id: str
    parent_id: str
    run_id: str
    tenant_id: str
    kind: str
    status: str
    name: str
    scope: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: tuple[StoredEvent, ...]
    resource: Attributes
    failed: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLog:
    """A log record.

    Attributes:
        span_id: The span that it belongs to, in hexadecimal; may be empty.
        event_name: The name of the event; empty for other records.
        severity: OpenTelemetry's number.
        time_ns: Its time, in nanoseconds since the epoch.
        attributes: Its attributes as plain data.
        body: Its body as plain data.
    """

    span_id: str
    event_name: str
    severity: int
    time_ns: int
    attributes: Attributes
    body: Any


def span_of(row: Any) -> StoredSpan:
    """The span of a row of ``spans``, which has the resource as ``resource_data``."""
    span = Span.FromString(row.data)
    return StoredSpan(
        trace_id=row.trace_id.hex(),
        span_id=row.span_id.hex(),
        parent_id=row.parent_id.hex(),
        run_id=row.run_id,
        tenant_id=row.tenant_id,
        kind=row.kind,
        status=row.status,
        name=span.name,
        scope=row.scope,
        start_ns=row.start_ns,
        end_ns=row.end_ns,
        attributes=_attributes(span.attributes),
        events=tuple(StoredEvent(one.name, one.time_unix_nano, _attributes(one.attributes)) for one in span.events),
        resource=_attributes(Resource.FromString(row.resource_data or b"").attributes),
        failed=span.status.code == _FAILED,
        message=span.status.message,
    )


def log_of(row: Any) -> StoredLog:
    """The log record of a row of ``logs``."""
    record = LogRecord.FromString(row.data)
    return StoredLog(
        span_id=row.span_id.hex(),
        event_name=row.event_name,
        severity=row.severity,
        time_ns=row.time_ns,
        attributes=_attributes(record.attributes),
        body=plain(record.body),
    )


def _attributes(given: Any) -> Attributes:
    return {one.key: plain(one.value) for one in given}
