"""Everything on the pages is reached, seen and used with a keyboard alone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.test_looks import paths
from tests.browser.viewing import DESKTOP, PHONE, Screen, Viewer
from tests.server.serving import Served

pytestmark = pytest.mark.browser

View = Callable[..., Viewer]

MARK = """() => {
  const usable = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  const seen = one => one.checkVisibility() && !one.disabled && !one.closest("fieldset[disabled]");
  window.unreached = new Set([...document.querySelectorAll(usable)].filter(seen));
  window.unseen = [];
  document.addEventListener("focusin", event => {
    const one = event.target, style = getComputedStyle(one);
    window.unreached.delete(one);
    if (style.outlineStyle === "none" && style.boxShadow === "none") window.unseen.push(one.outerHTML.slice(0, 120));
  });
  if (document.activeElement !== document.body) document.activeElement.blur();
  return window.unreached.size;
}"""


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=str)
def test_everything_is_reached_and_seen(filled: Served, view: View, screen: Screen) -> None:
    viewer, found = view(filled, screen), dict[str, list[str]]()
    for path in paths(filled).values():
        viewer.open(path)
        count = viewer.page.evaluate(MARK)
        for _ in range(6 * count):  # a date has a stop for each part
            viewer.page.keyboard.press("Tab")
            if not viewer.page.evaluate("window.unreached.size"):
                break
        left = "[...[...window.unreached].map(one => one.outerHTML.slice(0, 120)), ...window.unseen]"
        found[path] = viewer.page.evaluate(left)
    assert {path: left for path, left in found.items() if left} == {}


def test_the_first_stop_leads_to_the_content(filled: Served, view: View) -> None:
    viewer = view(filled)
    viewer.open("/runs")
    viewer.page.keyboard.press("Tab")
    expect(viewer.page.get_by_text("Skip to content")).to_be_focused()
    expect(viewer.page.get_by_text("Skip to content")).to_be_in_viewport()
    viewer.page.keyboard.press("Enter")
    expect(viewer.page.locator("main")).to_be_focused()


def test_a_hook_is_switched_and_a_request_answered(changed: Served, view: View) -> None:
    viewer = view(changed)
    viewer.open("/hooks")
    switch = viewer.page.get_by_role("switch", name="refunds")
    switch.focus()
    viewer.page.keyboard.press("Space")
    expect(switch).to_have_attribute("aria-checked", "false")
    viewer.open("/approvals")
    viewer.page.locator("#reason-refund").focus()
    viewer.page.keyboard.type("fine")
    viewer.page.keyboard.press("Tab")
    viewer.page.keyboard.press("Enter")
    expect(viewer.page.locator(".requests > li")).to_have_count(1)
    viewer.open("/approvals?status=approved")
    expect(viewer.page.get_by_text("fine")).to_be_visible()


def test_a_span_is_opened(filled: Served, view: View) -> None:
    viewer = view(filled)
    viewer.open("/runs/shadow-run")
    viewer.page.locator("summary", has_text="chat m").focus()
    viewer.page.keyboard.press("Enter")
    expect(viewer.page.locator("details[open]")).to_contain_text("Please refund")
