"""Agents and jobs over HTTP."""

import json
import re
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import spanhook
from spanhook import Hooks, Operation, Reject, Settings
from spanhook.engine import registry
from spanhook.jobs.failures import _repeats
from tests.server.serving import Served, served

APP = """
import asyncio
import spanhook
from opentelemetry import trace
from spanhook import Reject

async def echo(given):
    yield "you said "
    yield str(given)

@spanhook.tool
async def where() -> str:
    return f"{trace.get_current_span().get_span_context().trace_id:032x}"

async def traced(given):
    return await where()

async def slow(given):
    await asyncio.sleep(3600)

async def failing(given):
    return "".join(given)

async def refusing(given):
    raise Reject("no money", status_code=402)
"""


AGENTS = ("echo", "slow", "failing", "refusing", "traced")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder: Path = tmp_path_factory.mktemp("jobs")
    (folder / "served_agents.py").write_text(APP)
    agents = {one: {"target": f"{folder}/served_agents.py:{one}"} for one in AGENTS}
    with served(folder, api_keys=True, agents=agents) as one:
        yield one


@pytest.fixture(scope="module")
def acme(server: Served) -> dict[str, str]:
    return server.key("acme", "jobs:run", "jobs:read")


def events(text: str) -> list[tuple[int, str, Any]]:
    found: list[tuple[int, str, Any]] = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "event" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


def test_an_agent_answers(server: Served, acme: dict[str, str]) -> None:
    answer = server.client.post("/v1/agents/echo", json={"input": "hi"}, headers=acme)
    assert (answer.status_code, answer.json()) == (200, {"output": "you said hi"})
    assert server.client.post("/v1/agents/nobody", json={"input": 1}, headers=acme).status_code == 404


def test_agents_are_listed(server: Served, acme: dict[str, str]) -> None:
    answer = server.client.get("/v1/agents", headers=acme)
    assert answer.json() == {"agents": [{"name": name} for name in sorted(AGENTS)]}


def test_an_agent_streams(server: Served, acme: dict[str, str]) -> None:
    answer = server.client.post(
        "/v1/agents/echo", json={"input": "hi"}, headers={**acme, "Accept": "text/event-stream"}
    )
    found = events(answer.text)
    assert [one[:2] for one in found] == [(1, "text:delta"), (2, "text:delta"), (3, "done")]
    assert found[-1][2]["output"] == "you said hi"


@pytest.mark.parametrize("form", ["wait", "stream", "job"])
@pytest.mark.parametrize("messages", [False, True])
def test_the_log_says_why_an_agent_has_failed(
    server: Served, acme: dict[str, str], caplog: pytest.LogCaptureFixture, form: str, messages: bool
) -> None:
    _repeats.__init__()
    spanhook.instrument(settings=Settings(error_messages=messages))
    headers = {**acme, "Accept": "text/event-stream"} if form == "stream" else acme
    query = "?async=true" if form == "job" else ""
    for _ in range(2):
        answer = server.client.post(f"/v1/agents/failing{query}", json={"input": [7]}, headers=headers)
        if form == "job":
            assert events(server.client.get(f"{answer.headers['location']}/stream", headers=acme).text)
    (said,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    line, _, rest = said.partition("\n")
    found = re.fullmatch(r"spanhook: agent 'failing' has failed: TypeError at (\S+), line (\d+) \((\w+) (\w+)\)", line)
    assert found, said
    assert APP.splitlines()[int(found[2]) - 1] == '    return "".join(given)'
    assert found[1].endswith("/served_agents.py")
    assert (found[3], found[4][:4]) == ("job" if form == "job" else "run", "job_")
    assert (rest[:9], "found" in rest) == (("Traceback", True) if messages else ("", False))


def test_refusals_and_cancels_are_no_failures(
    server: Served, acme: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert server.client.post("/v1/agents/refusing", json={"input": 1}, headers=acme).status_code == 402
    made = server.client.post("/v1/agents/slow?async=true", json={"input": 1}, headers=acme).headers["location"]
    server.client.post(f"{made}/cancel", json={}, headers=acme)
    assert events(server.client.get(f"{made}/stream", headers=acme).text)[-1][2]["status"] == "cancelled"
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_refusal_has_its_status_and_reason(server: Served, acme: dict[str, str], accept: str) -> None:
    answer = server.client.post("/v1/agents/refusing", json={"input": 1}, headers={**acme, "Accept": accept})
    assert (answer.status_code, answer.json()["detail"]) == (402, "no money")


def test_a_job_is_made_once_and_followed_to_its_end(server: Served, acme: dict[str, str]) -> None:
    headers = {**acme, "Idempotency-Key": "one"}
    made = server.client.post("/v1/agents/echo?async=true", json={"input": "hi"}, headers=headers)
    assert made.status_code == 202
    job_id = made.json()["job_id"]
    assert made.headers["Location"] == f"/v1/jobs/{job_id}"
    again = server.client.post("/v1/agents/echo?async=true", json={"input": "hi"}, headers=headers)
    assert again.json()["job_id"] == job_id
    other = server.client.post("/v1/agents/echo?async=true", json={"input": "ho"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    found = events(server.client.get(f"/v1/jobs/{job_id}/stream", headers=acme).text)
    assert [one[0] for one in found] == list(range(1, len(found) + 1))
    assert (found[-1][1], found[-1][2]["output"]) == ("done", "you said hi")
    rest = server.client.get(f"/v1/jobs/{job_id}/stream", headers={**acme, "Last-Event-ID": "3"})
    assert events(rest.text) == found[3:]
    assert server.client.get(f"/v1/jobs/{job_id}", headers=acme).json()["status"] == "completed"


def test_a_job_is_cancelled_then_deleted(server: Served, acme: dict[str, str]) -> None:
    job_id = server.client.post("/v1/agents/slow?async=true", json={"input": 1}, headers=acme).json()["job_id"]
    assert server.client.delete(f"/v1/jobs/{job_id}", headers=acme).status_code == 409
    cancelled = server.client.post(f"/v1/jobs/{job_id}/cancel", json={}, headers=acme)
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert server.client.post(f"/v1/jobs/{job_id}/cancel", json={}, headers=acme).status_code == 409
    found = events(server.client.get(f"/v1/jobs/{job_id}/stream", headers=acme).text)
    assert found[-1][2]["status"] == "cancelled"
    assert server.client.delete(f"/v1/jobs/{job_id}", headers=acme).status_code == 204
    assert server.client.get(f"/v1/jobs/{job_id}", headers=acme).status_code == 404


def test_jobs_are_those_of_the_tenant(server: Served, acme: dict[str, str]) -> None:
    job_id = server.client.post("/v1/agents/echo?async=true", json={"input": 2}, headers=acme).json()["job_id"]
    theirs = server.key("globex", "jobs:run", "jobs:read")
    assert server.client.get(f"/v1/jobs/{job_id}", headers=theirs).status_code == 404
    assert server.client.get(f"/v1/jobs/{job_id}/stream", headers=theirs).status_code == 404
    assert server.client.post(f"/v1/jobs/{job_id}/cancel", json={}, headers=theirs).status_code == 404
    assert server.client.get("/v1/jobs", headers=theirs).json() == {"jobs": [], "next_cursor": ""}
    page = server.client.get("/v1/jobs?limit=1", headers=acme).json()
    assert page["jobs"][0]["job_id"] == job_id
    assert server.client.get("/v1/jobs", params={"cursor": page["next_cursor"]}, headers=acme).json()["jobs"]


def test_a_job_that_is_refused_by_a_gate_does_not_exist(server: Served) -> None:
    hooks = Hooks()

    @hooks.before("run", "job", priority=10)
    def gate(op: Operation) -> None:
        raise Reject("no subscription", status_code=402)

    key = server.key("initech", "jobs:run", "jobs:read")
    registry.swap(None, hooks)
    try:
        for path, accept in (("", "application/json"), ("", "text/event-stream"), ("?async=true", "*/*")):
            headers = {**key, "Accept": accept, "Idempotency-Key": "k"}
            answer = server.client.post(f"/v1/agents/echo{path}", json={"input": 1}, headers=headers)
            assert (answer.status_code, answer.json()["detail"]) == (402, "no subscription")
    finally:
        registry.swap(hooks, None)
    assert server.client.get("/v1/jobs", headers=key).json()["jobs"] == []
    again = server.client.post("/v1/agents/echo?async=true", json={"input": 1}, headers={**key, "Idempotency-Key": "k"})
    assert again.status_code == 202


def test_requests_with_one_key_that_come_together_make_one_job(server: Served, acme: dict[str, str]) -> None:
    headers = {**acme, "Idempotency-Key": "together"}

    def ask(_number: int) -> str:
        return server.client.post("/v1/agents/echo?async=true", json={"input": 1}, headers=headers).json()["job_id"]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream", "async"])
def test_the_tools_of_a_run_are_in_the_trace_of_its_request(server: Served, acme: dict[str, str], accept: str) -> None:
    spanhook.instrument(only=(), tracer_provider=TracerProvider())  # older APIs continue no trace without one
    headers = {**acme, "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "Accept": accept.replace("async", "*/*")}
    query = "?async=true" if accept == "async" else ""
    answer = server.client.post(f"/v1/agents/traced{query}", json={"input": 1}, headers=headers)
    if accept == "async":
        answer = server.client.get(f"/v1/jobs/{answer.json()['job_id']}/stream", headers=acme)
    output = answer.json()["output"] if accept == "application/json" else events(answer.text)[-1][2]["output"]
    assert output == "ab" * 16


def test_a_reader_that_has_seen_all_is_told_to_come_no_more(server: Served, acme: dict[str, str]) -> None:
    job_id = server.client.post("/v1/agents/echo?async=true", json={"input": 1}, headers=acme).json()["job_id"]
    found = events(server.client.get(f"/v1/jobs/{job_id}/stream", headers=acme).text)
    for last in (found[-1][0], 10**6):
        again = server.client.get(f"/v1/jobs/{job_id}/stream", headers={**acme, "Last-Event-ID": str(last)})
        assert (again.status_code, again.text) == (204, "")


def test_ended_jobs_are_counted(server: Served, acme: dict[str, str]) -> None:
    job_id = server.client.post("/v1/agents/echo?async=true", json={"input": 1}, headers=acme).json()["job_id"]
    server.client.get(f"/v1/jobs/{job_id}/stream", headers=acme)
    told = server.client.get("/metrics", headers=server.key("", "usage:read")).text
    assert 'spanhook_server_jobs_total{status="completed"}' in told
    assert 'spanhook_server_job_duration_seconds_count{status="completed"}' in told
    assert "spanhook_server_jobs_running 0.0" in told
