"""A window of a browser on the control plane's pages, and what is noticed in it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, Request, Response

from tests.e2e.programs import program

KEPT = os.environ.get("SPANHOOK_CI_SCREENSHOTS")
"""Where screenshots are kept; nowhere if it is not set."""


@dataclass(frozen=True)
class Screen:
    """What the pages are seen on.

    Attributes:
        name: Of the device.
        width, height: In CSS pixels.
        scheme: ``light`` or ``dark``.
    """

    name: str
    width: int
    height: int
    scheme: str

    @property
    def options(self) -> dict[str, Any]:
        """As Playwright takes it."""
        touch = self.width < 500
        size = {"width": self.width, "height": self.height}
        return {"viewport": size, "color_scheme": self.scheme, "has_touch": touch, "is_mobile": touch}

    def __str__(self) -> str:
        return f"{self.name}-{self.scheme}"


DESKTOP, PHONE = Screen("desktop", 1280, 900, "light"), Screen("phone", 390, 844, "dark")
SCREENS = (DESKTOP, Screen("desktop", 1280, 900, "dark"), Screen("phone", 390, 844, "light"), PHONE)


class Viewer:
    """A window.

    Attributes:
        page: The page in it.
        complaints: Errors and warnings in its console, requests to other hosts, and failures of the server.
    """

    def __init__(self, page: Page, url: str, screen: Screen) -> None:
        self.page, self.screen = page, screen
        self.complaints = list[str]()
        self._url = url
        self._refused = set[str]()
        page.set_default_timeout(60_000)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("response", self._answered)

    def open(self, path: str, status: int = 200) -> None:
        """Open a page, which the server answers with this status."""
        if status >= 400:
            self.refuses(path)
        response = self.page.goto(self._url + path)
        assert response is None or response.status == status, path  # None: another place on the same page

    def refuses(self, path: str) -> None:
        """Expect that the server refuses something here, which the browser's console repeats."""
        self._refused.add(self._url + path)

    def keep(self, name: str) -> None:
        """Keep a screenshot of the whole page."""
        if KEPT:
            Path(KEPT).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=Path(KEPT) / f"{name}-{self.screen}.png", full_page=True)

    def barriers(self) -> list[str]:
        """What keeps people from using the page, as axe-core finds it, and what is wider than the screen."""
        script = program("axe")
        if script is None:
            pytest.skip("axe-core is not there; .ci/tools axe fetches it")
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate((script / "axe.min.js").read_text())
        found = self.page.evaluate("axe.run(document)")
        wider = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return [
            *(f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]),
            *([f"{wider} pixels wider than the screen"] if wider > 0 else []),
        ]

    def _said(self, message: ConsoleMessage) -> None:
        expected = message.location.get("url") in self._refused and message.text.startswith("Failed to load resource")
        if message.type in ("error", "warning") and not expected:
            self.complaints.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(f"{self._url}/"):
            self.complaints.append(f"another host: {request.url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"{response.status}: {response.url}")
