from collections.abc import Generator

import pytest

from tests.server.browsing import Browser
from tests.server.serving import Served, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("problem")) as one:
        yield one


def test_browsers_get_a_page_and_programs_problem_details(server: Served) -> None:
    browser = Browser(server)
    assert "there is no run '<i>' here" in browser.open("/runs/<i>")
    assert browser.page.status_code == 404
    assert "<i>" not in browser.page.text
    response = server.client.get("/runs/nothing")
    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert Browser(server).client.get("/v1/runs/nothing").json()["code"] == "not_found"


@pytest.mark.parametrize(
    "path",
    [
        "/runs?since=yesterday",
        "/runs?cursor=x",
        "/usage?since=2026-02-30",
        "/usage?since=2020-01-01&until=2026-01-01",
        "/hooks?cursor=x",
        "/decisions?mode=x",
        "/approvals?status=x",
    ],
)
def test_wrong_parameters_are_told(server: Served, path: str) -> None:
    browser = Browser(server)
    assert "invalid" in browser.open(path)
    assert browser.page.status_code == 422


def test_what_the_guard_refuses_is_a_page_too(server: Served) -> None:
    response = Browser(server).client.post("/hooks", json={})
    assert (response.status_code, response.headers["content-type"]) == (415, "text/html; charset=utf-8")
    assert "media_type" in response.text
