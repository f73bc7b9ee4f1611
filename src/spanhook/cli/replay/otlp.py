"""Reads spans from OTLP JSON lines, as the collector's file exporter writes them: one batch on each line.

Knows nothing of operations. See https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are hex,
64-bit numbers are text, names are in lowerCamelCase; the original names in snake_case are not accepted.
"""

import gzip
import io
import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, cast

STDIN = "-"
_GZIP = b"\x1f\x8b"
_SKIPPED = ("resourceLogs", "resourceMetrics", "resourceProfiles")
_ERROR = (2, "2", "STATUS_CODE_ERROR")
_HAS_REMOTE, _REMOTE = 0x100, 0x200
"""Bits of a span's flags: whether it is known that the parent is in another process, and whether it is."""
_LATEST_NS = 2**63
_Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event on a recorded span."""

    name: str
    time_ns: int
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedSpan:
    """One span as it was exported.

    Attributes:
        parent_id: The id of its parent; empty for a root.
        is_remote: Whether the parent is in another process; ``None`` if that is not recorded.
        resource: Says which spans have the same resource.
        failed: Its status is ERROR, with this message.
    """

    trace_id: str
    span_id: str
    parent_id: str
    is_remote: bool | None
    start_ns: int
    end_ns: int
    scope: str
    resource: str
    attributes: Mapping[str, Any]
    events: tuple[SpanEvent, ...]
    failed: bool
    message: str


@dataclass(slots=True)
class Read:
    """What has been read.

    Attributes:
        spans: The spans, in the order of the files; a span that is there twice counts once.
        lines: How many lines there were, without empty ones.
        skipped: How many had no traces, but another signal.
        broken: Lines that cannot be read, with the reason.
    """

    spans: list[RecordedSpan] = field(default_factory=list[RecordedSpan])
    lines: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list[str])


def read_files(paths: Iterable[str], told: Callable[[Read], None]) -> Read:
    """Read files, or standard input for ``-``; each may be compressed with gzip.

    Args:
        paths: The files.
        told: Called after each line.

    Raises:
        OSError: A file cannot be opened.
    """
    read, known = Read(), set[tuple[str, str]]()
    for path in paths:
        number = 0
        try:
            with _opened(path) as lines:
                for number, line in enumerate(lines, 1):
                    _read_line(line, f"{_shown(path)}:{number}", read, known)
                    told(read)
        except (EOFError, gzip.BadGzipFile) as error:
            read.broken.append(f"{_shown(path)}:{number + 1}: the compressed file is damaged here: {error}")
    return read


def _shown(path: str) -> str:
    return "standard input" if path == STDIN else path


@contextmanager
def _opened(path: str) -> Generator[Iterable[bytes]]:
    raw: IO[bytes] = sys.stdin.buffer if path == STDIN else open(path, "rb")  # noqa: SIM115 - closed below
    try:
        peeked: Any = raw if hasattr(raw, "peek") else io.BufferedReader(cast("Any", raw))
        packed = peeked.peek(2)[:2] == _GZIP
        yield gzip.GzipFile(fileobj=peeked) if packed else peeked
    finally:
        if raw is not sys.stdin.buffer:
            raw.close()


def _read_line(line: bytes, place: str, read: Read, known: set[tuple[str, str]]) -> None:
    if not line.strip():
        return
    read.lines += 1
    try:
        batch = json.loads(line)
        spans = list(_spans(batch))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        read.broken.append(f"{place}: {_why(error)}")
        return
    if not spans and "resourceSpans" not in batch:
        if any(name in batch for name in _SKIPPED):
            read.skipped += 1
        else:
            read.broken.append(
                f"{place}: it has no resourceSpans, so it is not what the collector's file exporter writes"
            )
        return
    for span in spans:
        if (span.trace_id, span.span_id) not in known:
            known.add((span.trace_id, span.span_id))
            read.spans.append(span)


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return f"it is not JSON: {error}"
    if isinstance(error, KeyError):
        return f"a span has no {error}"
    return f"it is not OTLP: {error}"


def _spans(batch: Any) -> Iterator[RecordedSpan]:
    if not isinstance(batch, dict):
        raise TypeError(f"a line is an object, not {type(batch).__name__}")
    for resource_spans in cast("dict[str, Any]", batch).get("resourceSpans") or ():
        resource = json.dumps(resource_spans.get("resource"), sort_keys=True)
        for scope_spans in resource_spans.get("scopeSpans") or ():
            named: dict[str, Any] = scope_spans.get("scope") or {}
            scope = str(named.get("name", ""))
            for span in scope_spans.get("spans") or ():
                yield _span(span, scope, resource)


def _span(span: dict[str, Any], scope: str, resource: str) -> RecordedSpan:
    start_ns, end_ns = _time(span, "startTimeUnixNano"), _time(span, "endTimeUnixNano")
    status: dict[str, Any] = span.get("status") or {}
    flags, parent = int(span.get("flags") or 0), str(span.get("parentSpanId") or "").lower()
    return RecordedSpan(
        trace_id=_id(span, "traceId", 32),
        span_id=_id(span, "spanId", 16),
        parent_id=parent if parent.strip("0") else "",
        is_remote=bool(flags & _REMOTE) if flags & _HAS_REMOTE else None,
        start_ns=start_ns,
        end_ns=max(start_ns, end_ns),
        scope=scope,
        resource=resource,
        attributes=_attributes(span.get("attributes")),
        events=tuple(
            SpanEvent(str(one.get("name", "")), int(one.get("timeUnixNano") or 0), _attributes(one.get("attributes")))
            for one in span.get("events") or ()
        ),
        failed=status.get("code") in _ERROR,
        message=str(status.get("message") or ""),
    )


def _time(span: dict[str, Any], name: str) -> int:
    found = int(span[name])
    if not 0 <= found < _LATEST_NS:
        raise ValueError(f"{name} {found} is not a time")
    return found


def _id(span: dict[str, Any], name: str, digits: int) -> str:
    found = str(span[name]).lower()
    if len(found) != digits or not int(found, 16):
        raise ValueError(f"{name} {found!r} is not an id of {digits} hex digits")
    return found


def _attributes(given: Any) -> _Attributes:
    return {str(one["key"]): _value(one.get("value")) for one in given or ()}


def _value(given: Any) -> Any:
    """A value of OTLP as plain data; lists are tuples, as the SDK has them."""
    if not given:
        return None
    [(sort, value)] = cast("dict[str, Any]", given).items()
    if sort == "arrayValue":
        return tuple(_value(one) for one in value.get("values") or ())
    if sort == "kvlistValue":
        return _attributes(value.get("values"))
    read = _READERS.get(sort)
    if read is None:
        raise ValueError(f"a value has the unknown type {sort!r}")
    return read(value)


def _as_given(value: Any) -> Any:
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "stringValue": str,
    "boolValue": bool,
    "intValue": int,
    "doubleValue": float,
    "bytesValue": _as_given,
}
