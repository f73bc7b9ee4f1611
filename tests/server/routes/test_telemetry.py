import gzip
import json
from collections.abc import Generator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token

TRACE, START = "0af7651916cd43dd8448eb211c80319c", 1_700_000_000_000_000_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("telemetry"), tokens=TOKENS, max_telemetry=100_000) as one:
            yield one


def span(run: str, trace: str = TRACE, tenant: str = "globex") -> dict[str, Any]:
    texts = {
        "spanhook.kind": "agent.invoke", "spanhook.status": "success", "spanhook.run.id": run,
        "spanhook.tenant.id": tenant, "gen_ai.agent.name": "desk",
    }  # fmt: skip
    return {
        "traceId": trace, "spanId": "b7ad6b7169203331", "name": "invoke_agent desk", "kind": 1,
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 10**9),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()],
    }  # fmt: skip


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def send(server: Served, body: bytes, tenant: str = "acme", path: str = "traces", **headers: str) -> Any:
    given = {"Content-Type": "application/json", **headers, **bearer(token(tenant, ["telemetry:write"]))}
    return server.client.post(f"/v1/{path}", content=body, headers=given)


def runs(server: Served, tenant: str, path: str = "/v1/runs") -> Any:
    return server.client.get(path, headers=bearer(token(tenant, ["runs:read", "usage:read"]))).json()


def test_what_is_sent_is_there_and_belongs_to_who_sent_it(server: Served) -> None:
    response = send(server, request(span("run-1")))
    assert (response.status_code, response.json()) == (200, {})
    (found,) = runs(server, "acme")["runs"]
    assert (found["id"], found["trace_id"], found["tenant_id"], found["agent"]) == ("run-1", TRACE, "acme", "desk")
    assert found["duration_s"] == 1
    assert runs(server, "globex")["runs"] == []
    assert runs(server, "globex", "/v1/runs/run-1")["code"] == "not_found"
    one = runs(server, "acme", "/v1/runs/run-1")
    assert one["run"] == found
    assert [(it["name"], it["kind"]) for it in one["spans"]] == [("invoke_agent desk", "agent.invoke")]
    assert [it["id"] for it in runs(server, "the operators")["runs"]] == ["run-1"]


def test_protobuf_and_gzip_are_taken_as_well(server: Served) -> None:
    sent = ExportTraceServiceRequest()
    one = sent.resource_spans.add().scope_spans.add().spans.add()
    one.trace_id, one.span_id, one.name = bytes.fromhex(TRACE[::-1]), b"12345678", "x"
    one.start_time_unix_nano, one.end_time_unix_nano = START, START + 1
    body = gzip.compress(sent.SerializeToString())
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    response = send(server, body, "hooli", **headers)
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/x-protobuf"
    assert not ExportTraceServiceResponse.FromString(response.content).HasField("partial_success")


@pytest.mark.parametrize("path", ["traces", "metrics", "logs"])
def test_what_cannot_be_taken_is_refused_as_the_protocol_says(server: Served, path: str) -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(bomb) < 100_000
    for body, headers, status in (
        (b"{", {}, 400),
        (b"[" * 50_000, {}, 400),
        (b"\xff\xff", {"Content-Type": "application/x-protobuf"}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Content-Encoding": "br"}, 415),
        (b"{}", {"Content-Encoding": "gzip"}, 400),
        (bomb, {"Content-Encoding": "gzip"}, 413),
        (b" " * 100_001, {}, 413),
    ):
        response = send(server, body, path=path, **headers)
        assert response.status_code == status, (body[:20], headers, response.text)
        assert response.headers["content-type"] == "application/problem+json"


def test_what_is_rejected_in_part_is_told(server: Served) -> None:
    response = send(server, request({**span("run-2"), "traceId": "00" * 16}))
    assert response.status_code == 200
    assert response.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert response.json()["partialSuccess"]["errorMessage"]


def test_telemetry_has_no_limit_of_requests_but_what_waits(server: Served) -> None:
    assert {send(server, request()).status_code for _ in range(20)} == {200}
