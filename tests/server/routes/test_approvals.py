from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from spanhook.server import audit
from spanhook.store import ApprovalRequest, open_approvals
from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token


@pytest.fixture
def server(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Served]:
    """Requests are in the server's database, whatever that is."""
    monkeypatch.setenv("SPANHOOK_TEST_SECRET", SECRET)
    with served(tmp_path, tokens=TOKENS, database=url) as one:
        yield one
    open_approvals(url).close()


def request(server: Served, id: str, tenant: str = "acme", timeout: float = 3600, **fields: Any) -> None:
    given: dict[str, Any] = {
        "policy": "accounts",
        "tool": "close_account",
        "user_id": "bob",
        "arguments": '{"id": 1}',
        **fields,
    }
    asked = ApprovalRequest(id, f"binding of {id}", tenant_id=tenant, **given)
    open_approvals(server.database_url).ask(asked, timeout)


def ask(server: Served, method: str, path: str = "", tenant: str = "acme", by: str = "ada") -> tuple[int, Any]:
    headers = bearer(token(tenant, ["approvals:decide"], sub=by))
    json = {"reason": "looks right"} if method == "POST" else None
    response = server.client.request(method, f"/v1/approvals{path}", json=json, headers=headers)
    return response.status_code, response.json()


def test_a_tenants_requests_are_listed_and_answered_once(server: Served) -> None:
    for name, tenant in (("one", "acme"), ("two", "acme"), ("three", "globex"), ("four", "")):
        request(server, name, tenant)
    assert [one["id"] for one in ask(server, "GET")[1]["approvals"]] == ["one", "two"]
    assert [one["id"] for one in ask(server, "GET", tenant="the operators")[1]["approvals"]] == [
        "one", "two", "three", "four"
    ]  # fmt: skip
    status, approved = ask(server, "POST", "/one/approve")
    assert (status, approved["status"], approved["answered_by"], approved["reason"]) == (
        200, "approved", "ada", "looks right"
    )  # fmt: skip
    assert ask(server, "POST", "/two/deny")[1]["status"] == "denied"
    for answer in ("approve", "deny"):
        status, problem = ask(server, "POST", f"/one/{answer}")
        assert (status, problem["code"]) == (409, "already_answered")
    assert ask(server, "GET")[1]["approvals"] == []
    assert [one["id"] for one in ask(server, "GET", "?status=approved")[1]["approvals"]] == ["one"]
    assert ask(server, "GET", "/one")[1] == approved
    found = [(one["action"], one["subject"], one["actor"]) for one in server.with_database(audit.changes)]
    assert found == [("approval.approve", "one", "ada"), ("approval.deny", "two", "ada")]


def test_what_is_anothers_is_not_there(server: Served) -> None:
    request(server, "theirs", "globex")
    for method, path in (("GET", "/theirs"), ("POST", "/theirs/approve"), ("POST", "/theirs/deny")):
        status, problem = ask(server, method, path)
        assert (status, problem["code"]) == (404, "not_found")
    assert ask(server, "GET", "/theirs", tenant="globex")[1]["status"] == "pending"


def test_who_may_not_answer_does_not(server: Served) -> None:
    request(server, "own")
    request(server, "restricted", approvers=("*@finance",))
    for name, by in (("own", "bob"), ("restricted", "ada")):
        status, problem = ask(server, "POST", f"/{name}/approve", by=by)
        assert (status, problem["code"]) == (403, "approver_not_allowed")
        assert ask(server, "GET", f"/{name}")[1]["status"] == "pending"
    assert ask(server, "POST", "/restricted/approve", by="eve@finance")[0] == 200
    actions = [one["action"] for one in server.with_database(audit.changes)]
    assert actions == ["approval.approve", "approval.refused"] * 2 + ["approval.approve"]


def test_an_expired_request_cannot_be_answered(server: Served) -> None:
    request(server, "late", timeout=0)
    status, problem = ask(server, "POST", "/late/approve")
    assert (status, problem["code"]) == (409, "already_answered")


def test_a_page_of_somebody_else_approves_nothing(server: Served) -> None:
    request(server, "tempting", "")
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "text/plain"},
    ):
        response = server.client.post("/v1/approvals/tempting/approve", content=b"{}", headers={
            "Content-Type": "application/json", **headers, **bearer(token("the operators", ["approvals:decide"]))
        })  # fmt: skip
        assert response.status_code in (403, 415)
    assert ask(server, "GET", "/tempting", tenant="the operators")[1]["status"] == "pending"
