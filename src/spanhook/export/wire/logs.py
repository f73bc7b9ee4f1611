"""Log records as OTLP's ``LogRecord``; see ``opentelemetry/proto/logs/v1/logs.proto``."""

from struct import Struct
from typing import Any

from opentelemetry.sdk._logs import ReadableLogRecord

from spanhook.export.wire.values import attributes, count, delimited, name, text, value

_TIMES = Struct("<BQBQ").pack
_FLAGS = Struct("<BI").pack


def record(given: ReadableLogRecord, no_body: bytes) -> bytes:
    """A log record's message.

    Args:
        given: The record.
        no_body: What stands for a body of ``None``: an empty value, or nothing, depending on the SDK's version.

    Raises:
        Exception: Something about the record is not encoded here.
    """
    one: Any = given.log_record  # its times are never None in what the SDK emits
    severity, body = one.severity_number, one.body
    parts = [
        _TIMES(0x09, one.timestamp or 0, 0x59, one.observed_timestamp or 0),
        no_body if body is None else b"\x2a" + delimited(value(body)),
        attributes(b"\x32", one.attributes),
        _FLAGS(0x45, one.trace_flags),
    ]
    if severity is not None:
        parts += b"\x10", count(severity.value)
    if one.severity_text:
        parts += b"\x1a", text(one.severity_text)
    if dropped := given.dropped_attributes:
        parts += b"\x38", count(dropped)
    if one.trace_id:
        parts += b"\x4a\x10", one.trace_id.to_bytes(16)
    if one.span_id:
        parts += b"\x52\x08", one.span_id.to_bytes(8)
    if one.event_name:
        parts += b"\x62", name(one.event_name)
    return b"".join(parts)
