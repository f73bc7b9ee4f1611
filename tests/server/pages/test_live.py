import json
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spanhook.schedules import CronState, Past
from spanhook.server.pages import live
from tests.server.routes.test_runs import run
from tests.server.routes.test_sync import REPORT
from tests.server.serving import Served, served


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Generator[Served]:
    monkeypatch.setattr(live, "EVERY_S", 0.05)
    monkeypatch.setattr(live, "LASTS_S", 30.0)
    with served(tmp_path_factory.mktemp("live")) as one:
        yield one


def events(lines: Iterator[str]) -> Iterator[str]:
    return (line.removeprefix("event: ") for line in lines if line.startswith("event: "))


def test_a_page_is_told_of_runs(server: Served) -> None:
    with server.client.stream("GET", "/events/runs") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-store"
        told = events(response.iter_lines())
        assert next(told) == "ready"
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": run("acme", 1)}]}]})
        server.client.post("/v1/traces", content=body, headers={"Content-Type": "application/json"})
        assert next(told) == "change"


def test_a_page_is_told_of_hooks_once(server: Served) -> None:
    hook = {"name": "x", "event_type": "tool.execute.pre", "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
            "config": {"default": "deny"}}  # fmt: skip
    with server.client.stream("GET", "/events/hooks") as response:
        told = events(response.iter_lines())
        assert next(told) == "ready"
        assert server.client.post("/v1/hooks", json=hook).status_code == 201
        assert next(told) == "change"


def test_a_page_is_told_of_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVERY_S", 0.05)
    (tmp_path / "clocked_agents.py").write_text("async def echo(given):\n    return given\n")
    agents = {"echo": {"target": f"{tmp_path}/clocked_agents.py:echo"}}
    cron = [{"id": "mine", "schedule": "0 0 1 1 *", "agent": "echo"}]
    now = datetime.now(UTC)
    with (
        served(tmp_path, agents=agents, cron=cron) as server,
        server.client.stream("GET", "/events/schedules") as response,
    ):
        told = events(response.iter_lines())
        assert next(told) == "ready"
        server.keep_schedule("mine", CronState("0 0 1 1 * UTC", now, recent=(Past(now, "missed", now),)))
        assert next(told) == "change"


def report(server: Served, **facts: Any) -> None:
    given = {**REPORT, **facts}
    assert server.client.post("/v1/sync/reports", json=given).status_code == 200


def test_a_page_is_told_of_processes_and_not_of_each_report(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    report(server)
    with server.client.stream("GET", "/events/hooks") as response:
        told = events(response.iter_lines())
        assert next(told) == "ready"
        report(server, process_id="two")
        assert next(told) == "change"
    monkeypatch.setattr(live, "LASTS_S", 1.0)
    with server.client.stream("GET", "/events/hooks") as response:
        told = events(response.iter_lines())
        assert next(told) == "ready"
        report(server)
        assert list(told) == []


def test_streams_end_and_are_bounded(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LASTS_S", 0.1)
    for path in ("runs", "usage", "hooks", "approvals", "jobs"):
        with server.client.stream("GET", f"/events/{path}") as response:
            assert list(events(response.iter_lines())) == ["ready"]
    monkeypatch.setattr(live, "MOST_STREAMS", 0)
    response = server.client.get("/events/runs")
    assert (response.status_code, response.json()["code"], response.headers["retry-after"]) == (
        429,
        "rate_limited",
        "30",
    )


def test_one_tenants_pages_do_not_keep_others_from_being_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_OF_ONE", 1)
    monkeypatch.setattr(live, "LASTS_S", 10.0)
    with served(tmp_path, api_keys=True) as server:
        acme, globex = (server.key(tenant, "runs:read") for tenant in ("acme", "globex"))
        with server.client.stream("GET", "/events/runs", headers=acme) as response:
            told = events(response.iter_lines())  # what nobody keeps is closed
            assert next(told) == "ready"
            assert server.client.get("/events/runs", headers=acme).status_code == 429
            with server.client.stream("GET", "/events/runs", headers=globex) as other:
                assert other.status_code == 200
