import asyncio
import gzip
import sqlite3
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.server.loading import START, TRACE, everything, request, span
from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("telemetry"), tokens=TOKENS, max_telemetry=100_000) as one:
            yield one


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


def test_more_than_can_be_written_is_refused_for_later_and_the_rest_is_kept(tmp_path: Path) -> None:
    """Another writer keeps the database from being written while 300 requests arrive."""

    async def send_all(url: str) -> list[httpx.Response]:
        headers = {"Content-Type": "application/json"}
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
            sending = [
                asyncio.create_task(
                    client.post("/v1/traces", content=request(span(f"run-{one}", f"{one + 1:032x}")), headers=headers)
                )
                for one in range(300)
            ]
            await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
            assert (await client.get("/healthz")).status_code == 200
            other.rollback()
            return await asyncio.gather(*sending)

    with served(tmp_path) as server:
        other = sqlite3.connect(tmp_path / "control.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answers = asyncio.run(send_all(server.url))
        other.close()
        statuses = Counter(one.status_code for one in answers)
        assert set(statuses) == {200, 429}
        for one in answers:
            if one.status_code == 429:
                assert int(one.headers["Retry-After"]) > 0
                assert one.json()["code"] == "rate_limited"
        assert len(everything(server.client, "/v1/runs", "runs")) == statuses[200]


@pytest.mark.parametrize("depth", [90, 1_000])
def test_deep_values_are_refused(server: Served, depth: int) -> None:
    value = '{"arrayValue": {"values": [' * depth + '{"stringValue": "x"}' + "]}}" * depth
    body = request(span("run-deep", "ab" * 16)).replace(b'{"stringValue": "desk"}', value.encode())
    assert value.encode() in body
    assert send(server, body).status_code == 400


@pytest.mark.parametrize("size", [200_000, 3_000_000])
def test_what_is_too_large_is_refused_once_it_was_sent(server: Served, size: int) -> None:
    def pieces() -> Generator[bytes]:
        for _ in range(0, size, 50_000):
            yield b" " * 50_000

    for body in (b" " * size, pieces()):
        headers = {"Content-Type": "application/json", **bearer(token("acme", ["telemetry:write"]))}
        response = server.client.post("/v1/traces", content=body, headers=headers)
        assert (response.status_code, response.json()["code"]) == (413, "body_too_large")


def test_markup_and_paths_in_names_are_text(server: Served) -> None:
    name = "<script>alert(1)</script>'; DROP TABLE spanhook_runs; --/../../etc/passwd\u0000"
    given = span("run-<b>", "cd" * 16)
    given["attributes"][-1]["value"]["stringValue"] = name
    assert send(server, request(given), "initech").status_code == 200
    (found,) = runs(server, "initech")["runs"]
    assert (found["id"], found["agent"]) == ("run-<b>", name.replace("\0", "\ufffd"))
    assert runs(server, "initech", "/v1/runs/run-%3Cb%3E")["run"] == found
