"""Spans as OTLP's ``Span``; see ``opentelemetry/proto/trace/v1/trace.proto``."""

from struct import Struct
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceState

from spanhook.export.wire.values import attributes, count, delimited, name, text

_TIMES = Struct("<BQBQ").pack
_TIME = Struct("<BQ").pack
_KINDS = {kind: bytes((0x30, kind.value + 1)) for kind in SpanKind}
_STATUSES = {code: b"\x7a" + delimited(b"\x18" + count(code.value)) for code in StatusCode}
_NO_STATE = SpanContext(1, 2, is_remote=False).trace_state
_LOCAL, _REMOTE = b"\x00\x01\x00\x00", b"\x00\x03\x00\x00"
"""Flags: it is known whether a parent or a link is remote; and it is."""


def span(given: ReadableSpan) -> bytes:
    """A span's message.

    Raises:
        Exception: Something about the span is not encoded here.
    """
    context: Any = given.get_span_context()
    state, parent = context.trace_state, given.parent
    status: Any = given.status
    events, links = given.events, given.links
    parts = [
        b"\x0a\x10",
        context.trace_id.to_bytes(16),
        b"\x12\x08",
        context.span_id.to_bytes(8),
        b"\x2a",
        name(given.name),
        _KINDS[given.kind],
        _TIMES(0x39, given.start_time or 0, 0x41, given.end_time or 0),
        attributes(b"\x4a", given.attributes),
        b"\x85\x01",
        _REMOTE if parent and parent.is_remote else _LOCAL,
    ]
    if parent:
        parts += b"\x22\x08", parent.span_id.to_bytes(8)
    if state is not _NO_STATE:
        parts.append(_state(state))
    if events:
        parts += [b"\x5a" + delimited(_event(one)) for one in events]
    if links:
        parts += [b"\x6a" + delimited(_link(one)) for one in links]
    if status is not None:
        parts.append(_status(status))
    if dropped := given.dropped_attributes:
        parts += b"\x50", count(dropped)
    if dropped := given.dropped_events:
        parts += b"\x60", count(dropped)
    if dropped := given.dropped_links:
        parts += b"\x70", count(dropped)
    return b"".join(parts)


def _event(given: Event) -> bytes:
    parts = [_TIME(0x09, given.timestamp or 0), b"\x12", name(given.name), attributes(b"\x1a", given.attributes)]
    if dropped := given.dropped_attributes:
        parts += b"\x20", count(dropped)
    return b"".join(parts)


def _link(given: Link) -> bytes:
    context = given.context
    parts = [
        b"\x0a\x10",
        context.trace_id.to_bytes(16),
        b"\x12\x08",
        context.span_id.to_bytes(8),
        attributes(b"\x22", given.attributes),
        b"\x35",
        _REMOTE if context.is_remote else _LOCAL,
    ]
    if dropped := given.dropped_attributes:
        parts += b"\x28", count(dropped)
    return b"".join(parts)


def _state(given: TraceState | None) -> bytes:
    return b"\x1a" + text(",".join([f"{key}={value}" for key, value in given.items()])) if given else b""


def _status(given: Status) -> bytes:
    if given.description is None:
        return _STATUSES[given.status_code]
    return b"\x7a" + delimited(b"\x12" + text(given.description) + b"\x18" + count(given.status_code.value))
