from collections.abc import Generator
from typing import Any

import pytest

from spanhook.store import ApprovalRequest, open_approvals
from tests.server.browsing import Browser
from tests.server.serving import Served, served


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("approvals")) as one:
        yield one


def asked(server: Served, id: str, **fields: Any) -> None:
    given: dict[str, Any] = {"policy": "accounts", "tool": "close_account", "user_id": "bob", "arguments": '{"id": 1}'}
    request = ApprovalRequest(id, f"binding of {id}", tenant_id="acme", **{**given, **fields})
    open_approvals(server.database_url).ask(request, 3600)


def test_requests_are_shown_and_answered_with_a_reason(server: Served) -> None:
    asked(server, "one", title="Close <i>it</i>")
    asked(server, "two", agent="desk")
    browser = Browser(server)
    shown = browser.open("/approvals")
    assert "Close <i>it</i>" in shown
    assert "bob through desk wants to call close_account" in shown
    assert "<i>" not in browser.page.text
    assert "Close" not in browser.send("/approvals/one/approve", reason="looks right")
    assert "Nothing waits" in browser.send("/approvals/two/deny", reason="<b>not today</b>")
    assert "local" in browser.open("/approvals?status=approved")
    assert "looks right" in browser.text
    assert "<b>not today</b>" in browser.open("/approvals?status=denied")


def test_what_cannot_be_answered_is_told(server: Served) -> None:
    asked(server, "one")
    asked(server, "restricted", approvers=("*@finance",))
    browser = Browser(server)
    browser.open("/approvals")
    token = {"csrf": browser.token}
    browser.send("/approvals/one/deny", **token)
    for path, status in (("one/approve", 409), ("restricted/approve", 403), ("other/deny", 404)):
        browser.send(f"/approvals/{path}", **token)
        assert browser.page.status_code == status
    browser.send("/approvals/restricted/deny", **token, reason="a" * 1001)
    assert browser.page.status_code == 422
