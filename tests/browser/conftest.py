"""The control plane's pages in Chromium. ``.ci/run pages`` installs what this needs."""

import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.programs import need

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.browser.viewing import Screen, Viewer
    from tests.server.serving import Served

if any(find_spec(name) is None for name in ("playwright", "fastapi", "jwt")):  # not in every environment
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def chromium() -> "Generator[Browser]":
    """Debian's Chromium; Playwright brings no browser of its own."""
    from playwright.sync_api import expect, sync_playwright

    program = need("chromium", shutil.which("chromium"))
    expect.set_options(timeout=30_000)  # milliseconds; the machine may be busy
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@pytest.fixture(scope="session", autouse=True)
def soon() -> Generator[None]:
    """Pages are told of changes sooner than those of users."""
    from spanhook.server.pages import live

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "EVERY_S", 0.2)
        yield


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> "Generator[Served]":
    """A server without authentication and with something on each page, which tests leave as it is."""
    with _filled(tmp_path_factory, "filled") as one:
        yield one


@pytest.fixture
def changed(tmp_path_factory: pytest.TempPathFactory) -> "Generator[Served]":
    """The same for a test that changes something."""
    with _filled(tmp_path_factory, "changed") as one:
        yield one


@contextmanager
def _filled(factory: pytest.TempPathFactory, name: str) -> "Generator[Served]":
    from tests.browser.filling import CLOCKED, fill, fill_schedules
    from tests.server.serving import SECRET, served

    webhooks = {"key_env": "SPANHOOK_TEST_SECRET", "allowed_networks": ["127.0.0.1/32"], "plain_http": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(factory.mktemp(name), rate="1000000/minute", webhooks=webhooks, **CLOCKED) as one:
            fill(one)
            fill_schedules(one)
            yield one


@pytest.fixture
def view(chromium: "Browser") -> "Generator[Callable[..., Viewer]]":
    """Opens a window on a server. In the end nothing may be left in its console, and no other host was asked."""
    from tests.browser.viewing import DESKTOP, Viewer

    viewers = list[Viewer]()
    with ExitStack() as stack:

        def opened(server: "Served", screen: "Screen" = DESKTOP, **options: Any) -> Viewer:
            context = chromium.new_context(**{**screen.options, **options})
            stack.callback(context.close)
            viewers.append(Viewer(context.new_page(), server.url, screen))
            return viewers[-1]

        yield opened
    for viewer in viewers:
        assert viewer.complaints == []
