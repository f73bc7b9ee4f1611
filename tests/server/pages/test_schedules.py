"""The page of schedules."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spanhook.schedules import CronState, Past
from tests.server.browsing import Browser
from tests.server.serving import served

TICK = datetime(2026, 1, 30, 9, tzinfo=UTC)


def entry(cron_id: str, tenant_id: str, **given: Any) -> dict[str, Any]:
    return {"id": cron_id, "schedule": "0 0 1 1 *", "agent": "echo", "tenant_id": tenant_id, **given}


def test_schedules_are_shown_to_their_tenant(tmp_path: Path) -> None:
    (tmp_path / "clocked_agents.py").write_text("async def echo(given):\n    return given\n")
    agents = {"echo": {"target": f"{tmp_path}/clocked_agents.py:echo"}}
    cron = [entry("mine", "acme"), entry("off", "acme", enabled=False), entry("theirs", "globex")]
    failed = Past(TICK, "failed", TICK, "exec_1", "job_1", "<b>no</b>")
    missed = Past(TICK + timedelta(hours=1), "missed", TICK)
    with served(tmp_path) as before:
        before.keep_schedule("mine", CronState("0 0 1 1 * UTC", datetime.now(UTC), recent=(failed, missed)))
    with served(tmp_path, api_keys=True, agents=agents, cron=cron) as server:
        browser = Browser(server, **server.key("acme", "jobs:read"))
        shown = browser.open("/schedules")
        assert "mine" in shown
        assert "theirs" not in shown
        assert '<a href="/jobs/job_1">failed</a>: &lt;b&gt;no&lt;/b&gt;' in browser.page.text
        assert "missed" in shown
        assert ">off<" in browser.page.text
        browser.open("/jobs")
        assert 'href="/schedules"' in browser.page.text


def test_an_empty_page_says_what_to_write(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        browser = Browser(server)
        assert "cron:" in browser.open("/schedules")
        browser.open("/jobs")
        assert 'href="/schedules"' not in browser.page.text
