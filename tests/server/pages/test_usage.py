from collections.abc import Generator

import pytest

from tests.server.browsing import Browser
from tests.server.routes.test_runs import run
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("usage")) as one:
        body = {"resourceSpans": [{"scopeSpans": [{"spans": run("acme", 0) + run("acme", 1)}]}]}
        assert one.client.post("/v1/traces", json=body).json() == {}
        yield one


def test_days_are_drawn_and_listed(server: Served) -> None:
    browser = Browser(server)
    shown = browser.open("/usage", since="2023-11-10", until="2023-11-16")
    assert "14 Nov: 40 in, 6 out" in shown
    assert browser.page.text.count('class="touch"') == 14
    assert browser.page.text.count('<rect class="s1"') == 1
    assert "2023-11-14 2 40 6" in shown
    assert "m-1" in shown
    assert "desk" in shown


def test_the_last_days_are_shown_unless_others_are_asked_for(server: Served) -> None:
    browser = Browser(server)
    assert "Nothing was used in the last 30 days" in browser.open("/usage")
    assert "Nothing was used there" in browser.open("/usage", since="2023-11-10", until="2023-11-16", model="other")
    assert "Nothing was used there" in browser.open("/usage", until="1970-01-05")


@pytest.mark.parametrize(
    ("since", "until"), [("2023-11-16", "2023-11-10"), ("2022-01-01", "2023-11-10"), ("", "0001-01-05")]
)
def test_days_are_of_a_year_at_most(server: Served, since: str, until: str) -> None:
    browser = Browser(server)
    assert "expected up to 366 days" in browser.open("/usage", since=since, until=until)
    assert browser.page.status_code == 422
