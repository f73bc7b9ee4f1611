"""What people do on the pages, with a pointer on a desktop and with a finger on a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.filling import DAYS, MARKUP, SHADOW_RUN
from tests.browser.viewing import DESKTOP, PHONE, Screen, Viewer
from tests.server.serving import Served

pytestmark = pytest.mark.browser

View = Callable[..., Viewer]
both = pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=str)


@both
def test_runs_are_filtered_and_one_is_opened(filled: Served, view: View, screen: Screen) -> None:
    viewer = view(filled, screen)
    page, rows = viewer.page, viewer.page.locator("tbody tr")
    viewer.open("/runs")
    assert rows.count() == DAYS + 1
    page.get_by_label("Status").select_option("error")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("status=error"))
    assert {rows.nth(one).locator(".badge").first.inner_text() for one in range(rows.count())} == {"error"}
    page.get_by_role("link", name="Clear").click()
    page.get_by_text("More filters").click()
    page.get_by_label("User").fill("mallory")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No run is like that")).to_be_visible()
    page.get_by_label("User").fill("<b>mallory</b>")
    page.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    page.get_by_role("link", name=MARKUP).click()
    expect(page).to_have_url(re.compile(f"/runs/{SHADOW_RUN}$"))


@both
def test_a_run_is_a_waterfall_with_messages_and_what_a_shadow_would_have_done(
    filled: Served, view: View, screen: Screen
) -> None:
    viewer = view(filled, screen)
    viewer.open("/decisions")
    viewer.page.locator("tbody a").first.click()
    opened = viewer.page.locator("details[open]")
    expect(opened).to_have_count(1)
    expect(opened).to_contain_text("In shadow mode, refund_limit only noted what it would have done: reject")
    expect(opened).to_contain_text("<i>really</i>")
    expect(viewer.page.locator(".spans > li")).to_have_count(3)
    starts = [float(it.get_attribute("x") or -1) for it in viewer.page.locator("rect.fill").all()]
    assert starts == sorted(starts)
    assert starts[0] == 0
    viewer.page.locator("summary", has_text="chat m").click()
    expect(viewer.page.get_by_text("Please refund <b>order 7</b>.")).to_be_visible()
    viewer.keep("a-run-with-messages")


@both
def test_usage_leads_to_that_of_one_model(filled: Served, view: View, screen: Screen) -> None:
    viewer = view(filled, screen)
    viewer.open("/usage")
    expect(viewer.page.locator("svg[role=img]")).to_have_count(2)
    assert viewer.page.locator("svg[role=img] rect.s0").count() >= DAYS
    viewer.page.get_by_role("link", name="claude-sonnet-4").click()
    expect(viewer.page.get_by_role("textbox", name="Model", include_hidden=True)).to_have_value("claude-sonnet-4")
    expect(viewer.page.get_by_role("link", name="gpt-4.1")).to_have_count(0)


@both
def test_a_hook_is_switched_shadowed_and_edited(changed: Served, view: View, screen: Screen) -> None:
    viewer = view(changed, screen)
    page = viewer.page
    switch, modes = page.get_by_role("switch", name="refunds"), page.get_by_role("group", name="Mode of refunds")
    viewer.open("/hooks")
    expect(switch).to_have_attribute("aria-checked", "true")
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    modes.get_by_text("shadow").click()
    expect(modes.get_by_text("shadow")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="refunds").click()
    viewer.refuses(page.url.removeprefix(changed.url))
    page.get_by_label("Event").fill("nothing")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("nothing")
    page.get_by_label("Event").fill("tool.execute.pre")
    page.get_by_label("Description").fill(MARKUP)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Version 4: update")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_value(MARKUP)
    (stored,) = [one for one in changed.client.get("/v1/hooks").json()["hooks"] if one["name"] == "refunds"]
    assert (stored["enabled"], stored["mode"], stored["description"]) == (False, "shadow", MARKUP)


def test_a_hook_is_made_and_deleted(changed: Served, view: View) -> None:
    viewer = view(changed)
    page = viewer.page
    viewer.open("/hooks")
    page.get_by_role("link", name="New hook").click()
    page.get_by_role("link", name=re.compile("^RateLimit")).click()
    page.get_by_label("Name", exact=True).fill("made here")
    page.get_by_label("Event").fill("llm.call.pre")
    page.get_by_label(re.compile("^Limit")).fill("5/minute")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="made here")).to_be_visible()
    page.get_by_text("Delete this hook").click()
    page.get_by_role("button", name="Delete made here").click()
    expect(page).to_have_url(re.compile("/hooks$"))
    expect(page.get_by_role("link", name="made here")).to_have_count(0)


def test_decisions_are_filtered(filled: Served, view: View) -> None:
    viewer = view(filled)
    viewer.open("/decisions")
    viewer.page.get_by_label("Mode").select_option("enforce")
    viewer.page.get_by_role("button", name="Show").click()
    expect(viewer.page.get_by_text("No decision is like that")).to_be_visible()


@both
def test_requests_are_approved_and_denied(changed: Served, view: View, screen: Screen) -> None:
    viewer = view(changed, screen)
    page, waiting = viewer.page, viewer.page.locator(".requests > li")
    viewer.open("/approvals")
    expect(waiting).to_have_count(2)
    page.locator("#reason-refund").fill("not <b>today</b>")
    page.locator("#deny-refund").click()
    expect(waiting).to_have_count(1)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Nothing waits for an answer")).to_be_visible()
    page.get_by_role("link", name="denied").click()
    expect(page.get_by_text("not <b>today</b>")).to_be_visible()
    page.get_by_role("link", name="approved").click()
    expect(page.get_by_text("Close an account")).to_be_visible()


def test_pages_work_without_scripts(changed: Served, view: View) -> None:
    viewer = view(changed, java_script_enabled=False)
    viewer.open("/hooks")
    viewer.page.get_by_role("switch", name="loops").click()
    expect(viewer.page.get_by_role("switch", name="loops")).to_have_attribute("aria-checked", "true")


@both
def test_a_webhook_is_made_tested_and_its_secret_replaced(changed: Served, view: View, screen: Screen) -> None:
    viewer = view(changed, screen)
    page = viewer.page
    viewer.open("/webhooks")
    page.get_by_role("link", name="New webhook").click()
    viewer.refuses("/webhooks")
    page.get_by_label("URL").fill("https://10.0.0.1/hooks")
    page.get_by_label("job.failed").check()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("not public")
    expect(page.get_by_label("job.failed")).to_be_checked()
    page.get_by_label("URL").fill("http://127.0.0.1:1998/hooks")
    page.get_by_role("checkbox", name="All events").uncheck()
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#secret")).to_have_text(re.compile("whsec_.{20,}"))
    first = page.locator("#secret").inner_text()
    assert viewer.barriers() == []
    viewer.keep("a-secret")
    page.get_by_role("link", name="Continue").click()
    expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
    page.get_by_role("button", name="Send a test").click()
    page.locator("summary", has_text="webhook.ping").click()
    expect(page.get_by_text("no connection: Connection refused").first).to_be_visible()
    page.get_by_text("Replace the secret").click()
    page.get_by_role("button", name="New secret").click()
    expect(page.locator("#secret")).not_to_have_text(first)
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Switch off").click()
    expect(page.get_by_role("button", name="Switch on")).to_be_visible()
    page.get_by_text("Delete this webhook").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page).to_have_url(re.compile("/webhooks$"))
    expect(page.get_by_text("127.0.0.1:1998")).to_have_count(0)
