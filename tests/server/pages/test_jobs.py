from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from spanhook.jobs import JobEvent
from spanhook.server.pages.jobs import steps
from tests.server.browsing import Browser
from tests.server.serving import Served, served

APP = """
import asyncio
import spanhook

@spanhook.tool
async def look_up(word):
    return word

async def echo(given):
    yield "<b>you</b> "
    yield "said"
    await look_up(given)

async def slow(given):
    await asyncio.sleep(3600)

async def failing(given):
    raise ValueError("<i>no</i>")
"""
MARKUP = "<script>alert(1)</script>"


@pytest.fixture  # hooks of a server are gone after each test
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder: Path = tmp_path_factory.mktemp("pages")
    (folder / "paged_agents.py").write_text(APP)
    agents = {one: {"target": f"{folder}/paged_agents.py:{one}"} for one in ("echo", "slow", "failing")}
    with served(folder, api_keys=True, agents=agents) as one:
        yield one


def asked(server: Served, key: dict[str, str], agent: str, given: Any = MARKUP) -> str:
    made = server.client.post(f"/v1/agents/{agent}?async=true", json={"input": given}, headers=key)
    return made.json()["job_id"]


def ended(server: Served, key: dict[str, str], job_id: str) -> None:
    """Wait until a job has ended."""
    server.client.get(f"/v1/jobs/{job_id}/stream", headers=key)


def test_an_empty_page_says_what_to_run(server: Served, tmp_path: Path) -> None:
    nobody = Browser(server, **server.key("nobody", "jobs:read"))
    assert "/v1/agents/echo?async=true" in nobody.open("/jobs")
    assert "No job is like that" in nobody.open("/jobs?status=failed")
    nobody.open("/jobs?status=lost")
    assert nobody.page.status_code == 422
    with served(tmp_path) as without:
        assert "spanhook serve --agent support=" in Browser(without).open("/jobs")


def test_jobs_are_listed_and_filtered_for_their_tenant(server: Served) -> None:
    key = server.key("acme", "jobs:read", "jobs:run")
    done, failed = asked(server, key, "echo"), asked(server, key, "failing")
    for job_id in (done, failed):
        ended(server, key, job_id)
    browser = Browser(server, **key)
    shown = browser.open("/jobs")
    assert "completed" in shown
    assert "failing" in browser.open("/jobs?status=failed")
    assert done not in browser.page.text
    assert failed not in Browser(server, **server.key("globex", "jobs:read")).open("/jobs")
    assert MARKUP in browser.open(f"/jobs/{done}")
    assert MARKUP not in browser.page.text
    assert "<b>you</b> said" in browser.text
    assert "<b>you" not in browser.page.text
    assert "tool:call" in browser.text
    assert "look_up" in browser.text
    assert "ValueError" in browser.open(f"/jobs/{failed}")
    assert "<i>no" not in browser.page.text
    other = Browser(server, **server.key("globex", "jobs:read"))
    other.open(f"/jobs/{done}")
    assert other.page.status_code == 404


def test_a_job_is_cancelled_and_deleted_by_those_who_may(server: Served) -> None:
    key = server.key("acme", "jobs:read", "jobs:run")
    job_id = asked(server, key, "slow")
    reader = Browser(server, **server.key("acme", "jobs:read"))
    reader.open(f"/jobs/{job_id}")
    assert "/cancel" not in reader.page.text
    browser = Browser(server)
    browser.open("/login")
    browser.send("/login", key=key["Authorization"].removeprefix("Bearer "), to=f"/jobs/{job_id}")
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    assert browser.client.post(f"/jobs/{job_id}/cancel", data={"csrf": "0"}, headers=own).status_code == 403
    assert "cancelled" in browser.send(f"/jobs/{job_id}/cancel")
    ended(server, key, job_id)
    browser.open(f"/jobs/{job_id}")
    browser.send(f"/jobs/{job_id}/cancel")
    assert browser.page.status_code == 409
    browser.open(f"/jobs/{job_id}")
    browser.send(f"/jobs/{job_id}/delete")
    assert browser.path == "/jobs"
    browser.open(f"/jobs/{job_id}")
    assert browser.page.status_code == 404


def test_texts_that_follow_each_other_are_one_line() -> None:
    events = [
        JobEvent(1, "status", {"status": "running"}),
        JobEvent(2, "text:delta", {"text": "a"}),
        JobEvent(3, "text:delta", {"text": "b"}),
        JobEvent(4, "agent:delegate", {"from": "x", "to": "y"}),
        JobEvent(5, "text:delta", {"text": "c"}),
        JobEvent(6, "done", {}),
    ]
    shown = [(one.id, one.title, one.text) for one in steps(events)]
    assert shown == [(1, "running", ""), (3, "", "ab"), (4, "x to y", ""), (5, "", "c")]
