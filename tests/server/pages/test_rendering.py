import re
from collections.abc import Generator

import pytest

from spanhook.server.pages.rendering import FOLDER, HEADERS, NAVIGATION, _environment
from tests.server.browsing import Browser
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("rendering")) as one:
        yield one


def test_templates_escape_what_they_show_and_have_no_code_within() -> None:
    assert _environment.autoescape is True
    for name in _environment.list_templates():
        source = (FOLDER / "templates" / name).read_text(encoding="utf-8")
        assert "|safe" not in source
        assert "autoescape" not in source
        assert not re.search(r"<script(?! src=\"/static/)|<style|\son\w+=|\sstyle=|javascript:", source), name


@pytest.mark.parametrize("entry", NAVIGATION, ids=lambda entry: entry.name)
def test_pages_load_nothing_from_elsewhere_and_run_no_code_but_ours(
    server: Served, entry: tuple[str, str, str]
) -> None:
    browser = Browser(server)
    browser.open(entry[1])
    headers = browser.page.headers
    assert headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert (headers["referrer-policy"], headers["cache-control"]) == ("same-origin", "no-store")
    assert headers["x-frame-options"] == "DENY"
    assert not re.findall(r'(?:src|href|action)="(?!/|#)[^"]*"', browser.page.text)
    assert f'href="{entry[1]}" aria-current="page"' in browser.page.text


@pytest.mark.parametrize("path", ["/runs", "/decisions", "/jobs", "/schedules", "/usage", "/hooks", "/approvals"])
def test_an_empty_page_says_what_to_run(server: Served, path: str) -> None:
    browser = Browser(server)
    browser.open(path)
    assert 'class="empty"' in browser.page.text
    assert "<pre><code>" in browser.page.text


def test_commands_on_empty_pages_have_the_address_that_the_server_was_called_by(
    server: Served, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for path in ("/runs", "/decisions", "/usage", "/hooks"):
        assert f"{server.url}" in Browser(server).open(path)
    with served(tmp_path_factory.mktemp("proxied"), allowed_origins=["https://localhost", "https://x.example"]) as one:
        browser = Browser(one, Host="localhost")
        assert "ENDPOINT=https://localhost spanhook" in browser.open("/runs")
