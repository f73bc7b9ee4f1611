"""Bodies of requests to OTLP over HTTP: decompressed within bounds, and JSON as protocol buffers."""

import base64
import json
import re
import zlib
from typing import Any, Literal, cast

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanhook.store.control.columns import clean
from spanhook.store.control.wire import MalformedError, TooLargeError, UnsupportedError

Signal = Literal["traces", "logs", "metrics"]
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_REQUESTS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceRequest,
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
}
_IDS = ("traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_GZIP = 16 + zlib.MAX_WBITS
_DEEPEST = 100
_MEMBERS = 64
_CONTAINERS = 500_000
"""Objects and lists in a body of JSON: each takes fifty times the memory of its bytes, and microseconds."""


def inflated(body: bytes, encoding: str, most: int) -> bytes:
    """A body without its compression, however far it would expand.

    Args:
        body: As it was sent.
        encoding: Its ``Content-Encoding``: ``gzip``, ``deflate``, ``identity`` or empty.
        most: How many bytes it may have.

    Raises:
        MalformedError: It is not compressed like that.
        TooLargeError: It has more bytes.
        UnsupportedError: It is compressed in another way.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        if len(body) > most:
            raise TooLargeError(f"the body has more than {most} bytes")
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise UnsupportedError(f"content encoding {encoding!r}: expected gzip, deflate or none")
    found: list[bytes] = []
    left, rest = most, body
    try:
        while rest:  # gzip allows several members
            if len(found) == _MEMBERS:
                raise MalformedError(f"the body has more than {_MEMBERS} members of gzip")
            reader = zlib.decompressobj(zlib.MAX_WBITS if name == "deflate" else _GZIP)
            data = reader.decompress(rest, left + 1)
            left -= len(data)
            if left < 0:
                raise TooLargeError(f"the body has more than {most} bytes when decompressed")
            if not reader.eof:
                raise MalformedError(f"the body is not a complete {name}")
            found.append(data)
            rest = reader.unused_data
    except zlib.error as error:
        raise MalformedError(f"the body is no {name}: {error}") from None
    return b"".join(found)


def as_protobuf(signal: Signal, data: bytes, content_type: str) -> bytes:
    """A request as protocol buffers.

    Args:
        signal: What it is about.
        data: The decompressed body.
        content_type: ``application/x-protobuf`` or ``application/json``, with or without parameters.

    Raises:
        MalformedError: It is no such request.
        TooLargeError: It has too many objects and lists.
        UnsupportedError: It has another type.
    """
    sort = content_type.partition(";")[0].strip().lower()
    if sort == PROTOBUF:
        return data
    if sort != JSON:
        raise UnsupportedError(f"content type {content_type!r}: expected {PROTOBUF} or {JSON}")
    if data.count(b"{") + data.count(b"[") > _CONTAINERS:
        raise TooLargeError(
            f"the JSON has more than {_CONTAINERS} objects and lists; send smaller batches, or protobuf"
        )
    try:
        given: Any = json.loads(data)
        if not isinstance(given, dict):
            raise MalformedError("the body is not a JSON object")
        request = _as_ids(cast("dict[str, Any]", given))
        message = _REQUESTS[signal]()
        if _SURROGATE.search(data):
            request = _cleaned(request)
        ParseDict(request, message, ignore_unknown_fields=True, max_recursion_depth=_DEEPEST)
        return message.SerializeToString()
    except RecursionError:
        raise MalformedError("the JSON is nested too deeply") from None
    except (ValueError, TypeError, AttributeError, KeyError, ParseError) as error:
        raise MalformedError(f"the JSON is not an OTLP request: {type(error).__name__}") from None


def _as_ids(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, where the JSON of protocol buffers has base64."""
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        for key, one in known.items():
            if key in _IDS and isinstance(one, str):
                known[key] = base64.b64encode(bytes.fromhex(one)).decode()
            elif isinstance(one, dict | list):
                _as_ids(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            _as_ids(one)
    return cast(Any, value)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _cleaned(one) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_cleaned(one) for one in cast("list[Any]", value)]
    return value
