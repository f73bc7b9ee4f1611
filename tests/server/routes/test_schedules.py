"""Schedules over HTTP: a tick makes a job of an agent, and says what became of it."""

import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spanhook.schedules import CronState
from tests.server.serving import Served, served

APP = """
from spanhook import Reject

async def echo(given):
    return given

async def failing(given):
    raise ValueError("a secret")
"""
CRON = [
    {"id": "news", "schedule": "0 0 1 1 *", "agent": "echo", "input": "hi", "tenant_id": "acme", "missed": "latest"},
    {"id": "bad", "schedule": "0 0 1 1 *", "agent": "failing", "tenant_id": "globex", "missed": "latest"},
    {"id": "off", "schedule": "* * * * *", "agent": "echo", "enabled": False},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """A server that finds ticks which came before it was started."""
    folder: Path = tmp_path_factory.mktemp("schedules")
    (folder / "scheduled_agents.py").write_text(APP)
    agents = {one: {"target": f"{folder}/scheduled_agents.py:{one}"} for one in ("echo", "failing")}
    with served(folder) as before:
        for cron_id in ("news", "bad"):
            before.keep_schedule(cron_id, CronState("0 0 1 1 * UTC", datetime.now(UTC) - timedelta(days=400)))
    with served(folder, api_keys=True, agents=agents, cron=CRON) as one:
        yield one


def until(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if answer := found():
            return answer
        time.sleep(0.02)
    raise AssertionError("it took too long")


def test_a_missed_tick_becomes_a_job_with_its_tenant(server: Served) -> None:
    acme = server.key("acme", "jobs:read")

    def over() -> Any:
        (one,) = server.client.get("/v1/schedules", headers=acme).json()["schedules"]
        return one if one["recent"] else None

    found = until(over)
    assert (found["id"], found["agent"], found["time_zone"], found["enabled"]) == ("news", "echo", "UTC", True)
    assert found["next_at"].endswith("-01-01T00:00:00Z")
    tick = found["recent"][0]
    assert (tick["status"], tick["error"]) == ("completed", "")
    assert tick["scheduled_at"].endswith("-01-01T00:00:00Z")
    job = server.client.get(f"/v1/jobs/{tick['job_id']}", headers=acme).json()
    assert (job["agent"], job["status"], job["result"], job["tenant_id"]) == ("echo", "completed", "hi", "acme")
    assert server.client.get("/v1/schedules/news", headers=acme).json()["id"] == "news"
    assert server.client.get("/v1/schedules/bad", headers=acme).status_code == 404


def test_a_job_that_fails_is_a_tick_that_fails(server: Served) -> None:
    globex = server.key("globex", "jobs:read")

    def over() -> Any:
        return server.client.get("/v1/schedules/bad", headers=globex).json()["recent"]

    (tick,) = until(over)
    assert (tick["status"], tick["error"]) == ("failed", "ValueError")
    assert tick["job_id"].startswith("job_")


def test_an_operator_sees_all(server: Served) -> None:
    everything = server.client.get("/v1/schedules", headers=server.key("", "jobs:read")).json()["schedules"]
    assert [one["id"] for one in everything] == ["news", "bad", "off"]
    assert everything[2]["next_at"] is None
