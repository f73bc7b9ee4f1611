"""Bodies: compression within bounds, and JSON as OTLP has it."""

import base64
import gzip
import json
import zlib
from contextlib import suppress
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanhook.store.control import MalformedError, TooLargeError, UnsupportedError
from spanhook.store.control.payload import as_protobuf, inflated
from tests.store.control.otlp import JSON, PROTOBUF, run_of, traces

MOST = 100_000
BODY = traces(run_of(1)).SerializeToString()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", gzip.compress(BODY)),
        ("GZIP ", gzip.compress(BODY)),
        ("x-gzip", gzip.compress(BODY[:9]) + gzip.compress(BODY[9:])),
        ("deflate", zlib.compress(BODY)),
    ],
)
def test_compressed_bodies(encoding: str, body: bytes) -> None:
    assert inflated(body, encoding, MOST) == BODY


def test_bombs_are_not_expanded() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < MOST
    with pytest.raises(TooLargeError):
        inflated(bomb, "gzip", MOST)
    with pytest.raises(TooLargeError):
        inflated(gzip.compress(bytes(60_000)) * 2, "gzip", MOST)
    with pytest.raises(MalformedError, match="members"):
        inflated(gzip.compress(b"") * 1_000, "gzip", MOST)
    assert len(inflated(gzip.compress(bytes(MOST)), "gzip", MOST)) == MOST


@pytest.mark.parametrize("body", [gzip.compress(BODY)[:-4], gzip.compress(BODY) + b"rest", b"", b"\x1f\x8b"])
def test_broken_compression(body: bytes) -> None:
    if body:
        with pytest.raises(MalformedError):
            inflated(body, "gzip", MOST)
    else:
        assert inflated(body, "gzip", MOST) == b""


def test_other_encodings() -> None:
    with pytest.raises(UnsupportedError):
        inflated(BODY, "br", MOST)


def _json(request: Any) -> dict[str, Any]:
    """The JSON form of OTLP: ids in hexadecimal."""
    found = MessageToDict(request)
    for one in found["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in one:
                one[name] = base64.b64decode(one[name]).hex()
    return found


def test_json_is_the_same_request() -> None:
    request = traces(run_of(1))
    data = json.dumps(_json(request)).encode()
    read = as_protobuf("traces", data, "application/json; charset=utf-8")
    assert ExportTraceServiceRequest.FromString(read) == request


def test_json_with_unknown_fields_numbers_as_text_and_surrogates() -> None:
    given = {
        "resourceSpans": [
            {
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": "AB" * 16,
                                "spanId": "cd" * 8,
                                "startTimeUnixNano": "5",
                                "kind": 3,
                                "name": "a\ud800b",
                                "novel": {"deep": [1]},
                            }
                        ]
                    }
                ]
            }
        ]
    }
    read = ExportTraceServiceRequest.FromString(as_protobuf("traces", json.dumps(given).encode(), JSON))
    [span] = read.resource_spans[0].scope_spans[0].spans
    assert (span.trace_id, span.start_time_unix_nano, span.kind, span.name) == (b"\xab" * 16, 5, 3, "a\ufffdb")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"nonsense",
        b'{"resourceSpans": 5}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "xyz"}]}]}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "99999999999999999999999"}]}]}]}',
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"[" * 50_000,
        b"\xff\xfe",
    ],
)
def test_json_that_is_no_request(body: bytes) -> None:
    with pytest.raises(MalformedError):
        as_protobuf("traces", body, JSON)


@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_malformed(body: bytes) -> None:
    with suppress(MalformedError):
        as_protobuf("logs", body, JSON)


def test_other_types() -> None:
    assert as_protobuf("traces", BODY, PROTOBUF) == BODY
    with pytest.raises(UnsupportedError):
        as_protobuf("traces", BODY, "")


@pytest.mark.parametrize("one", ["{}", "[]", '{"a":[]}'])
def test_json_of_very_many_values_is_not_even_read(one: str) -> None:
    body = f'{{"resourceSpans":[{",".join([one] * 500_001)}]}}'.encode()
    with pytest.raises(TooLargeError, match="objects and lists"):
        as_protobuf("traces", body, JSON)
