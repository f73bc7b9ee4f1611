from collections.abc import Generator

import pytest

from tests.server.browsing import Browser
from tests.server.routes.test_runs import run
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("decisions")) as one:
        body = {"resourceSpans": [{"scopeSpans": [{"spans": run("acme", 0) + run("acme", 1)}]}]}
        assert one.client.post("/v1/traces", json=body).json() == {}
        yield one


def test_decisions_are_shown_with_their_run(server: Served) -> None:
    browser = Browser(server)
    assert "refunds tool.execute.pre reject" in browser.open("/decisions")
    assert f'href="/runs/acme-1#span-{"0" * 15}1"' in browser.page.text
    assert "desk" in browser.open("/runs/acme-1")
    assert f'id="span-{"0" * 15}1"' in browser.page.text


@pytest.mark.parametrize(
    ("name", "there", "other"),
    [("hook", "refunds", "x"), ("decision", "reject", "modify"), ("mode", "enforce", "shadow"), ("run", "acme-0", "x"),
     ("event", "tool.execute.pre", "x"), ("user", "ada", "x"), ("since", "2023-01-01T00:00", "2024-01-01T00:00")],
)  # fmt: skip
def test_each_filter_is_one_of_the_api(server: Served, name: str, there: str, other: str) -> None:
    browser = Browser(server)
    assert "refunds tool.execute.pre" in browser.open("/decisions", **{name: there})
    assert "No decision is like that" in browser.open("/decisions", **{name: other})
