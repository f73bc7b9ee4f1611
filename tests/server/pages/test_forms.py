from collections.abc import Generator

import pytest

from tests.server.browsing import Browser
from tests.server.serving import Served, served

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("forms")) as one:
        yield one


@pytest.mark.parametrize(
    "path", ["/hooks", "/hooks/x/enabled", "/hooks/x/delete", "/approvals/x/approve", "/jobs/x/cancel"]
)
def test_a_form_needs_the_token_of_its_page(server: Served, path: str) -> None:
    browser = Browser(server)
    browser.open("/hooks/new?handler=spanhook.hooks.tool_policy:ToolPolicy")
    for token in ("", "0" * 64, browser.token[:-1]):
        response = browser.client.post(path, data={"csrf": token, "handler_ref": "x"})
        assert (response.status_code, "cross_site" in response.text) == (403, True)
    assert browser.client.post(path, data={"csrf": browser.token}).status_code in (404, 422)
    other = Browser(server)
    assert other.client.post(path, data={"csrf": browser.token}).status_code == 403


def test_forms_are_forms_and_within_bounds(server: Served) -> None:
    browser = Browser(server)
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x"):
        assert browser.client.post("/hooks", content=b"{}", headers={"Content-Type": kind}).status_code == 415
    for body in (b"a=%ff", b"\xff=1", b"&".join(b"a=1" for _ in range(2000))):
        assert browser.client.post("/hooks", content=body, headers=FORM).status_code == 400
    assert server.client.post("/v1/hooks", content=b"a=1", headers=FORM).status_code == 415
