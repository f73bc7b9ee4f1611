from collections.abc import Generator
from typing import Any

import pytest

from spanhook.control_plane import opened
from tests.server.serving import Served, served

HOOK: dict[str, Any] = {
    "name": "opa",
    "event_type": "tool.execute.pre",
    "handler_ref": "spanhook.hooks.remote_policy._hook:RemotePolicy",
    "config": {"service": "opa", "url": "https://opa.example/v1/data", "headers": {"x-opa": "secret"}},
}
REPORT: dict[str, Any] = {
    "process_id": "one",
    "service": "agent",
    "host": "box",
    "pid": 7,
    "spanhook_version": "0.1.0",
    "set_version": 3,
    "digest": "d" * 64,
    "hooks": [{"name": "mine", "kinds": ["llm.call"], "priority": 5, "mode": "shadow"}],
    "problems": [{"subject": "hook_1", "message": "its handler is missing"}],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("sync"), api_keys=True, rate="50/minute") as one:
        yield one


def test_a_set_is_sent_once_until_something_changes(server: Served) -> None:
    key, admin = server.key("acme", "hooks:sync"), server.key("", "hooks:admin")
    first = server.client.get("/v1/sync", headers=key)
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}'):
        again = server.client.get("/v1/sync", headers={**key, "If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert server.client.get("/v1/sync", headers={**key, "If-None-Match": '"other"'}).content == first.content

    made = server.client.post("/v1/hooks", json=HOOK, headers=admin)
    changed = server.client.get("/v1/sync", headers={**key, "If-None-Match": etag})
    assert (made.status_code, changed.status_code) == (201, 200)
    found = opened(changed.content, None)
    assert found.version == opened(first.content, None).version + 1
    (definition,) = found.definitions
    assert definition["config"]["headers"] == {"x-opa": "secret"}  # the process needs it


def test_processes_that_ask_often_use_up_no_rate(server: Served) -> None:
    key = server.key("acme", "hooks:sync")
    assert {server.client.get("/v1/sync", headers=key).status_code for _ in range(70)} == {200}


def test_a_report_is_shown_to_its_tenant_and_to_operators(server: Served) -> None:
    for tenant in ("acme", "globex", ""):
        given = {**REPORT, "service": tenant or "all"}
        response = server.client.post("/v1/sync/reports", json=given, headers=server.key(tenant, "hooks:sync"))
        assert response.status_code == 200, response.text
    again = server.client.post("/v1/sync/reports", json=REPORT, headers=server.key("acme", "hooks:sync"))
    assert again.status_code == 200

    def seen(tenant: str) -> list[dict[str, Any]]:
        return server.client.get("/v1/processes", headers=server.key(tenant, "hooks:read")).json()["processes"]

    (own,) = seen("acme")
    assert own.pop("first_seen") < own.pop("last_seen")
    assert own == {"tenant_id": "acme", **{name: value for name, value in REPORT.items() if name != "process_id"}}
    assert [one["service"] for one in seen("")] == ["agent", "all", "globex"]
    assert seen("initech") == []


def test_processes_come_in_pages(server: Served) -> None:
    key, reader = server.key("paged", "hooks:sync"), server.key("paged", "hooks:read")
    for number in range(3):
        server.client.post("/v1/sync/reports", json={"process_id": str(number), "pid": number}, headers=key)
    found, cursor = list[int](), ""
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = server.client.get("/v1/processes", params=params, headers=reader).json()
        found += [one["pid"] for one in page["processes"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert found == [2, 1, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"process_id": ""},
        {"pid": -1},
        {"set_version": 2**63},
        {"hooks": [{"name": "x"}] * 501},
        {"problems": [{"subject": "x", "message": "y" * 501}]},
        {"tenant_id": "globex"},
    ],
)
def test_a_report_that_is_none_is_refused(server: Served, wrong: dict[str, Any]) -> None:
    key = server.key("acme", "hooks:sync")
    response = server.client.post("/v1/sync/reports", json={**REPORT, **wrong}, headers=key)
    assert (response.status_code, response.json()["code"]) == (422, "invalid")


def test_what_hooks_did_is_the_tenants_and_counted_once(server: Served) -> None:
    entry = {
        "log_id": "1", "event_type": "llm.call.pre", "tenant_id": "globex", "name": "m", "time_ns": 1,
        "aborted": True, "abort_reason": "no",
        "hook_results": [{"hook_name": "mine", "decision": "reject", "duration_ms": 0.5, "status_code": 402}],
    }  # fmt: skip
    counted = {"hook": "mine", "event_type": "llm.call.pre", "executions": 4, "rejections": 1, "time_ns": 4_000_000}
    for _ in range(2):
        given = {**REPORT, "process_id": "counts", "executions": [counted], "logs": [entry]}
        response = server.client.post("/v1/sync/reports", json=given, headers=server.key("initech", "hooks:sync"))
        assert response.status_code == 200, response.text
    reader = server.key("initech", "hooks:read")
    found = server.client.get("/v1/hooks/stats", headers=reader).json()
    assert (found["executions"], found["failures"], found["rejections"]) == (4, 0, 1)
    assert found["event_types_active"][0] == "llm.call"
    (one,) = found["hooks"]
    assert (one["hook_name"], one["event_type"]) == ("mine", "llm.call.pre")
    (log,) = server.client.get("/v1/hooks/logs", headers=reader).json()["logs"]
    assert (log["tenant_id"], log["total_duration_ms"], log["hook_results"][0]["data"]) == (
        "initech", 0.5, {"status_code": 402}
    )  # fmt: skip
    others = server.key("globex", "hooks:read")
    assert server.client.get("/v1/hooks/logs/1", headers=others).status_code == 404
    assert server.client.get("/v1/hooks/stats", headers=others).json()["executions"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"executions": [{"hook": "x", "event_type": "e", "executions": -1}]},
        {"executions": [{"hook": "x", "event_type": "e", "executions": 2**63}]},
        {"executions": [{"hook": "x" * 201, "event_type": "e"}]},
        {"logs": [{"log_id": "", "event_type": "e", "time_ns": 1}]},
        {"logs": [{"log_id": "1", "event_type": "e", "time_ns": 2**63}]},
        {"logs": [{"log_id": "1", "event_type": "e", "time_ns": 1}] * 201},
    ],
)
def test_reports_of_what_hooks_cannot_have_done_are_refused(server: Served, wrong: dict[str, Any]) -> None:
    given = {**REPORT, **wrong}
    response = server.client.post("/v1/sync/reports", json=given, headers=server.key("umbrella", "hooks:sync"))
    assert (response.status_code, response.json()["code"]) == (422, "invalid")
