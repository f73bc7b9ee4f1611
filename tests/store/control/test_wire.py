"""Requests are taken apart as protocol buffers would, or refused."""

import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from spanhook.store.control import MalformedError, TooLargeError
from spanhook.store.control.wire import groups
from tests.store.control.otlp import run_of, traces

MOST = 1_000


def _parsed(request: ExportTraceServiceRequest) -> list[tuple[bytes, bytes, list[bytes]]]:
    return [
        (
            resource.resource.SerializeToString(),
            scope.scope.SerializeToString(),
            [span.SerializeToString() for span in scope.spans],
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
    ]


def test_the_records_of_a_request() -> None:
    request = traces(run_of(1))
    request.resource_spans[0].schema_url = "https://example.com" * 20
    more = request.resource_spans.add()
    more.scope_spans.add(schema_url="x")
    more.scope_spans.append(ScopeSpans(spans=[Span(name="n" * 300)]))
    assert groups(request.SerializeToString(), MOST) == _parsed(request)
    assert groups(b"", MOST) == []


@given(st.binary(max_size=64))
@example(b"\x0a\x02\x12\x00")
@example(b"\x08" + b"\xff" * 20)
@example(b"\x0b\x0c")
def test_any_bytes_are_read_as_protocol_buffers_read_them_or_refused(data: bytes) -> None:
    try:
        found = groups(data, MOST)
    except MalformedError:
        return
    try:
        request = ExportTraceServiceRequest.FromString(data)
    except DecodeError:
        return  # what is inside is read later
    assert [len(records) for _, _, records in found] == [len(records) for _, _, records in _parsed(request)]


def test_more_records_than_are_taken() -> None:
    request = traces([Span()] * 51)
    with pytest.raises(TooLargeError):
        groups(request.SerializeToString(), 50)
    nested = ExportTraceServiceRequest()
    for _ in range(51):
        nested.resource_spans.add().scope_spans.add()
    with pytest.raises(TooLargeError):
        groups(nested.SerializeToString(), 50)
