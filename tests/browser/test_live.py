"""Pages that are open show what arrives, and are not loaded again for it."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from spanhook.jobs import JobEvent
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.store.control import Database
from tests.browser.filling import SECOND, ask, send, span
from tests.browser.viewing import Viewer
from tests.server.serving import Served

pytestmark = pytest.mark.browser

View = Callable[..., Viewer]


def live(viewer: Viewer, path: str) -> None:
    """Open a page, and wait until it is told of changes."""
    viewer.open(path)
    expect(viewer.page.locator("[data-live-mark]")).to_have_text("Live")
    viewer.page.evaluate("window.same = true")


def test_runs_appear_when_their_telemetry_arrives(changed: Served, view: View) -> None:
    viewer = view(changed)
    live(viewer, "/runs")
    viewer.page.get_by_role("searchbox").focus()
    send(
        changed,
        span("arrived", 1, time.time_ns(), 1, name="x", spanhook__kind="agent.invoke", gen_ai__agent__name="new"),
    )
    expect(viewer.page.get_by_role("link", name="new", exact=True)).to_be_visible()
    assert viewer.page.evaluate("window.same")
    expect(viewer.page.get_by_role("searchbox")).to_be_focused()


def test_a_run_that_goes_on_grows_and_what_was_opened_stays_open(changed: Served, view: View) -> None:
    start = time.time_ns() - SECOND
    running = span("goes on", 2, start, 0.5, 1, name="chat m", spanhook__kind="llm.call", gen_ai__request__model="m")
    send(changed, running)
    viewer = view(changed)
    live(viewer, "/runs/goes%20on")
    viewer.page.locator("summary", has_text="chat m").click()
    send(changed, span("goes on", 3, start, 0.7, 1, name="execute_tool x", spanhook__kind="tool.execute"))
    expect(viewer.page.locator("summary", has_text="execute_tool x")).to_be_visible()
    expect(viewer.page.locator("details[open]")).to_contain_text("chat m")
    assert viewer.page.evaluate("window.same")


def test_a_job_is_followed_and_cancelled(changed: Served, view: View) -> None:
    viewer, job_id = view(changed), f"job_{3:032x}"
    live(viewer, f"/jobs/{job_id}")

    async def say(database: Database) -> None:
        await SQLJobs(database).append(job_id, [JobEvent(1, "text:delta", {"text": "It is on its way"}, 1)])

    changed.with_database(say)
    expect(viewer.page.get_by_text("It is on its way")).to_be_visible()
    assert viewer.page.evaluate("window.same")
    viewer.page.get_by_role("button", name="Cancel").click()
    expect(viewer.page.get_by_text("cancelled").first).to_be_visible()
    expect(viewer.page.get_by_role("button", name="Delete")).to_be_visible()


def test_requests_appear_and_do_not_disturb_whoever_writes(changed: Served, view: View) -> None:
    viewer = view(changed)
    live(viewer, "/approvals")
    reason = viewer.page.locator("#reason-refund")
    reason.fill("I am still wri")
    ask(changed, "third", tool="pay", title="Pay a bill")
    told = view(changed)  # a second window is, so the first one has been
    live(told, "/approvals")
    expect(told.page.get_by_role("heading", name="Pay a bill")).to_be_visible()
    expect(viewer.page.get_by_role("heading", name="Pay a bill")).to_have_count(0)
    expect(reason).to_have_value("I am still wri")
    reason.fill("")
    reason.blur()
    expect(viewer.page.get_by_role("heading", name="Pay a bill")).to_be_visible()


def test_switches_of_others_are_seen(changed: Served, view: View) -> None:
    viewer = view(changed)
    live(viewer, "/hooks")
    switch = viewer.page.get_by_role("switch", name="refunds")
    hooks = changed.client.get("/v1/hooks").json()["hooks"]
    (hook,) = [one["hook_id"] for one in hooks if one["name"] == "refunds"]
    switch.focus()
    assert changed.client.put(f"/v1/hooks/{hook}/toggle", json={"enabled": False}).status_code == 200
    expect(switch).to_have_attribute("aria-checked", "false")
    expect(switch).to_be_focused()


def test_pages_say_when_they_are_not_live(changed: Served, view: View) -> None:
    viewer = view(changed)
    live(viewer, "/usage")
    viewer.page.context.set_offline(True)
    viewer.page.evaluate("window.dispatchEvent(new Event('pagehide'))")
    expect(viewer.page.locator("[data-live-mark]")).to_have_text("")
    viewer.page.context.set_offline(False)
    viewer.page.evaluate("window.dispatchEvent(new Event('pageshow'))")
    expect(viewer.page.locator("[data-live-mark]")).to_have_text(re.compile("Live"))
    # What the page asks for before it notices that there is no network.
    viewer.complaints[:] = [one for one in viewer.complaints if "ERR_INTERNET_DISCONNECTED" not in one]
