"""Complete export requests: by the encoder here and, where that does not know something, by OpenTelemetry's own."""

from collections.abc import Callable
from functools import partial
from typing import Any

from opentelemetry._logs import LogRecord
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource

from spanhook.export.wire.logs import record
from spanhook.export.wire.metrics import metrics as all_metrics
from spanhook.export.wire.requests import request
from spanhook.export.wire.spans import span

Theirs = Callable[[Any], Any]
"""OpenTelemetry's encoder of one signal: from what an exporter gets to a message."""
Ours = Callable[[Any], bytes]
"""The same, but to the bytes of that message; raises if it does not know something."""


def traces(theirs: Theirs) -> Ours:
    """An encoder of spans; a span that it does not know is encoded by ``theirs``."""

    def single(given: Any) -> bytes:
        return theirs([given]).resource_spans[0].scope_spans[0].spans[0].SerializeToString()

    return partial(request, span, single)


def logs(theirs: Theirs) -> Ours:
    """An encoder of log records; a record that it does not know is encoded by ``theirs``."""

    def single(given: Any) -> bytes:
        return theirs([given]).resource_logs[0].scope_logs[0].log_records[0].SerializeToString()

    empty = ReadableLogRecord(LogRecord(), Resource({}))
    has_body = theirs([empty]).resource_logs[0].scope_logs[0].log_records[0].HasField("body")
    return partial(request, partial(record, no_body=b"\x2a\x00" if has_body else b""), single)


def metrics(_theirs: Theirs) -> Ours:
    """An encoder of metrics; it raises if there is one that it does not know."""
    return all_metrics


MAKERS: dict[str, Callable[[Theirs], Ours]] = {"traces": traces, "logs": logs, "metrics": metrics}
"""By signal."""
