"""Logging in with an API key, what it then may see, and logging out."""

import re
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import DESKTOP, PHONE, Screen, Viewer
from tests.server.serving import Served, served

pytestmark = pytest.mark.browser

View = Callable[..., Viewer]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("guarded"), api_keys=True, failures="1000/minute") as one:
        yield one


@pytest.fixture(scope="module")
def key(guarded: Served) -> str:
    with ThreadPoolExecutor() as pool:  # Playwright has a loop in this thread
        made = pool.submit(guarded.key, "acme", "runs:read", "hooks:read").result()
    return made["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("screen", [DESKTOP, PHONE], ids=str)
def test_a_key_opens_the_pages_until_the_log_out(guarded: Served, view: View, key: str, screen: Screen) -> None:
    viewer = view(guarded, screen)
    page = viewer.page
    viewer.open("/hooks?enabled=true")
    expect(page).to_have_url(re.compile("/login"))
    expect(page.get_by_label("API key")).to_be_focused()
    assert viewer.barriers() == []
    viewer.keep("login")
    viewer.refuses("/login")
    page.keyboard.type("shk_000000000000_" + "a" * 43)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not valid")
    assert viewer.barriers() == []
    viewer.keep("login-refused")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile(r"/hooks\?enabled=true$"))
    assert page.evaluate("document.cookie") == ""  # scripts cannot read it
    expect(page.get_by_role("navigation").get_by_role("link")).to_have_text(["Runs", "Decisions", "Hooks"])
    expect(page.locator("[data-live-mark]")).to_have_text("Live")
    viewer.open("/usage", status=403)
    expect(page.get_by_text("usage:read").first).to_be_visible()
    assert viewer.barriers() == []
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))
    viewer.open("/hooks")
    expect(page).to_have_url(re.compile("/login"))
