import time
from collections.abc import Generator
from typing import Any

import pytest

from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.server import audit
from spanhook.server.masking import MASK
from spanhook.store.control import Execution, ExecutionEntry, record_executions
from tests.server.serving import Served, served

POLICY: dict[str, Any] = {
    "name": "refunds",
    "event": "tool.execute.pre",
    "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
    "config": {"default": "allow", "rules": [{"deny": ["refund"], "reason": "ask first"}]},
}
SERVICE: dict[str, Any] = {
    "name": "opa",
    "event_type": "tool.execute.pre",
    "handler_ref": "spanhook.hooks.remote_policy._hook:RemotePolicy",
    "config": {
        "service": "opa",
        "url": "https://ada:secret-one@opa.example/v1/data",
        "headers": {"x-opa": "secret-two"},
    },
}


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("hooks"), api_keys=True, rate="100000/minute") as one:
        yield one


class Caller:
    """A caller with an API key."""

    def __init__(self, server: Served, tenant: str, *scopes: str) -> None:
        self.client, self.headers = server.client, server.key(tenant, *scopes)

    def __call__(self, method: str, path: str = "", json: Any = None, **params: Any) -> tuple[int, Any]:
        response = self.client.request(method, f"/v1/hooks{path}", json=json, params=params, headers=self.headers)
        return response.status_code, response.json()


@pytest.fixture(scope="module")
def operator(all_of_them: Served) -> Caller:
    return Caller(all_of_them, "", "hooks:admin")


@pytest.fixture(scope="module")
def globex(all_of_them: Served) -> Caller:
    return Caller(all_of_them, "globex", "hooks:manage")


@pytest.fixture
def acme(all_of_them: Served, request: pytest.FixtureRequest) -> Caller:
    return Caller(all_of_them, f"acme-{request.node.name}", "hooks:manage")


def created(caller: Caller, **fields: Any) -> dict[str, Any]:
    status, hook = caller("POST", json={**POLICY, **fields})
    assert status == 201, hook
    return hook


def test_a_definition_is_created_read_changed_and_deleted(acme: Caller) -> None:
    hook = created(acme, description="Refunds need a person", tags=["money"])
    assert hook["hook_id"].startswith("hook_")
    assert (hook["event_type"], hook["priority"], hook["timeout_ms"], hook["version"]) == (
        "tool.execute.pre",
        None,
        200,
        1,
    )
    path = f"/{hook['hook_id']}"
    assert acme("GET", path) == (200, hook)
    status, changed = acme("PUT", path, {"priority": 5, "name": "first"})
    kept = {**hook, "priority": 5, "name": "first", "version": 2, "updated_at": changed["updated_at"]}
    assert (status, changed) == (200, kept)
    assert acme("DELETE", path) == (200, changed)
    assert acme("GET", path)[0] == 404
    assert acme("DELETE", path)[0] == 404


def test_priority_and_fail_mode_can_be_the_handlers_own_again(acme: Caller) -> None:
    path = f"/{created(acme, priority=300, fail_mode='open')['hook_id']}"
    status, changed = acme("PUT", path, {"priority": None, "fail_mode": None})
    assert (status, changed["priority"], changed["fail_mode"]) == (200, None, None)
    status, tested = acme("POST", f"{path}/test", {"sample_context": {"name": "refund"}})
    assert (status, tested["result"]["decision"], tested["result"]["fail_mode"]) == (200, "reject", "closed")
    acme("DELETE", path)


def test_toggling_does_what_its_body_says_once(acme: Caller) -> None:
    path = f"/{created(acme)['hook_id']}/toggle"
    told = [acme("PUT", path, {"enabled": on})[1] for on in (True, False, False, True, False)]
    assert [(one["enabled"], one["version"]) for one in told] == [
        (True, 1), (False, 2), (False, 2), (True, 3), (False, 4)
    ]  # fmt: skip
    _, page = acme("GET", path.replace("toggle", "history"))
    assert [one["action"] for one in page["changes"]] == ["disable", "enable", "disable", "create"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"enabled": "false"},
        {"enabled": 1},
        {"enabled": None},
        {"nonsense": 1},
        {"enabled": True, "a": 1},
        [],
        1,
    ],
)
def test_toggling_without_a_state_changes_nothing_and_says_what_to_send(acme: Caller, body: Any) -> None:
    path = f"/{created(acme)['hook_id']}"
    status, problem = acme("PUT", f"{path}/toggle", body)
    assert (status, problem["code"]) == (422, "invalid")
    assert 'send {"enabled": true} to enable the hook, or {"enabled": false} to disable it' in problem["detail"]
    assert (acme("GET", path)[1]["enabled"], acme("GET", path)[1]["version"]) == (True, 1)
    acme("DELETE", path)


def test_what_was_done_to_it_stays_known(acme: Caller) -> None:
    hook = created(acme)
    path = f"/{hook['hook_id']}"
    acme("PUT", path, {"priority": 7})
    acme("PUT", f"{path}/toggle", {"enabled": False})
    acme("DELETE", path)
    status, page = acme("GET", f"{path}/history")
    assert status == 200
    told = [(one["version"], one["action"], one["definition"]["priority"]) for one in page["changes"]]
    assert told == [(4, "delete", 7), (3, "disable", 7), (2, "update", 7), (1, "create", None)]
    _, first = acme("GET", f"{path}/history", limit=3)
    _, rest = acme("GET", f"{path}/history", limit=3, cursor=first["next_cursor"])
    assert first["changes"] + rest["changes"] == page["changes"]
    assert rest["next_cursor"] == ""


def test_lists_are_filtered_and_come_in_pages(all_of_them: Served) -> None:
    initech = Caller(all_of_them, "initech", "hooks:manage")
    hooks = [
        created(
            initech,
            name=str(number),
            event="llm.call.pre" if number % 2 else "tool.execute.pre",
            **({"handler_ref": "spanhook.hooks.pii_redaction._hook:PIIRedaction", "config": {}} if number % 2 else {}),
        )
        for number in range(5)
    ]
    initech("PUT", f"/{hooks[0]['hook_id']}/toggle", {"enabled": False})

    def names(**params: Any) -> list[str]:
        return [one["name"] for one in initech("GET", tenant="initech", **params)[1]["hooks"]]

    assert names() == ["0", "1", "2", "3", "4"]
    assert names(event="llm.call.pre") == ["1", "3"]
    assert names(enabled="false") == ["0"]
    assert names(event="nothing") == []
    cursor, seen = None, list[str]()
    while cursor != "":
        _, page = initech("GET", tenant="initech", limit=2, **({"cursor": cursor} if cursor else {}))
        assert len(page["hooks"]) <= 2
        seen += [one["name"] for one in page["hooks"]]
        cursor = page["next_cursor"]
    assert seen == names()
    for wrong in ("x", "W10", "bnVsbA", "é"):
        assert initech("GET", cursor=wrong)[0] == 422


def test_a_tenant_cannot_learn_of_anothers_hooks(acme: Caller, globex: Caller) -> None:
    hook = created(acme)
    theirs = f"/{hook['hook_id']}"
    nothing = "/hook_000000000000"
    for method, rest, body in (
        ("GET", "", None), ("PUT", "", {"priority": 1}), ("DELETE", "", None), ("PUT", "/toggle", {"enabled": False}),
        ("POST", "/test", {"sample_context": {}}), ("GET", "/history", None),
    ):  # fmt: skip
        status, problem = globex(method, f"{theirs}{rest}", body)
        _, as_nothing = globex(method, f"{nothing}{rest}", body)
        assert status == 404
        assert problem["detail"].replace(hook["hook_id"], "X") == as_nothing["detail"].replace(nothing[1:], "X")
    assert globex("GET", tenant=hook["tenant_id"])[1]["hooks"] == []
    assert hook["hook_id"] not in str(globex("GET")[1])
    status, problem = globex("POST", json={**POLICY, "tenant_id": hook["tenant_id"]})
    assert status == 404
    assert (
        problem["detail"].replace(hook["tenant_id"], "X")
        == globex("POST", json={**POLICY, "tenant_id": "X"})[1]["detail"]
    )


def test_of_hooks_for_all_tenants_a_tenant_knows_little_and_changes_nothing(acme: Caller, operator: Caller) -> None:
    hook = created(operator, name="for all")
    assert hook["tenant_id"] == ""
    path = f"/{hook['hook_id']}"
    known = {"system": True, "name": "for all", "event_type": "tool.execute.pre", "enabled": True}
    assert acme("GET", path) == (200, known)
    assert known in acme("GET", tenant="")[1]["hooks"]
    for method, rest, body in (
        ("PUT", "", {"priority": 1}), ("DELETE", "", None), ("PUT", "/toggle", {"enabled": False}),
        ("POST", "/test", {"sample_context": {}}), ("GET", "/history", None),
    ):  # fmt: skip
        status, problem = acme(method, f"{path}{rest}", body)
        assert (status, problem["code"]) == (403, "scope_missing")
    assert acme("POST", json={**POLICY, "tenant_id": ""})[1]["code"] == "scope_missing"
    assert operator("GET", path) == (200, hook)
    assert operator("DELETE", path)[0] == 200


def test_hooks_for_all_are_no_tenants_whatever_its_scopes(
    all_of_them: Served, operator: Caller, globex: Caller
) -> None:
    admin = Caller(all_of_them, "hooli", "hooks:admin", "hooks:manage", "policies:manage", "hooks:sync")
    hook, theirs, own = created(operator, name="for all"), created(globex), created(admin)
    path = f"/{hook['hook_id']}"
    for method, rest, body in (
        ("PUT", "", {"priority": 1}), ("PUT", "", {"mode": "shadow"}), ("DELETE", "", None),
        ("PUT", "/toggle", {"enabled": False}), ("POST", "/test", {"sample_context": {}}), ("GET", "/history", None),
    ):  # fmt: skip
        status, problem = admin(method, f"{path}{rest}", body)
        assert (status, problem["code"]) == (403, "scope_missing")
        assert admin(method, f"/{theirs['hook_id']}{rest}", body)[0] == 404
    assert admin("POST", json={**POLICY, "tenant_id": ""})[1]["code"] == "scope_missing"
    assert admin("POST", json={**POLICY, "tenant_id": "globex"})[0] == 404
    assert admin("POST", json={**POLICY, "hook_id": hook["hook_id"]})[0] == 422
    assert admin("PUT", f"/{own['hook_id']}", {"tenant_id": ""})[0] == 422
    remote = {
        "handler_ref": "spanhook.hooks.remote_policy:RemotePolicy",
        "config": {"service": "opa", "url": "http://a"},
    }
    assert admin("PUT", f"/{own['hook_id']}", remote)[1]["code"] == "scope_missing"
    assert set(admin("GET", path)[1]) == {"system", "name", "event_type", "enabled"}
    assert operator("GET", path) == (200, hook)
    for caller, one in ((operator, hook), (globex, theirs), (admin, own)):
        assert caller("DELETE", f"/{one['hook_id']}")[0] == 200


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"priority": 1001}, "priority"),
        ({"priority": True}, "priority"),
        ({"timeout_ms": 0}, "timeout_ms"),
        ({"timeout_ms": 5001}, "timeout_ms"),
        ({"name": ""}, "name"),
        ({"event": "tool.execute.before"}, "there is no event"),
        ({"handler_ref": "os"}, "handler_ref"),
        ({"hook_id": "mine"}, "hook_id"),
        ({"created_at": "2020-01-01T00:00:00Z"}, "created_at"),
        ({"config": {"default": "maybe"}}, "default"),
        ({"event": "tool.execute.post"}, "would do nothing"),
        ({"fail_mode": "maybe"}, "fail_mode"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(acme: Caller, fields: dict[str, Any], said: str) -> None:
    status, problem = acme("POST", json={**POLICY, **fields})
    assert (status, problem["code"]) == (422, "invalid")
    assert said in str(problem)
    assert acme("GET", tenant="acme")[1]["hooks"] == []


def test_a_change_is_checked_like_a_new_definition(acme: Caller) -> None:
    hook = created(acme)
    path = f"/{hook['hook_id']}"
    for changes in (
        {"priority": -1},
        {"event": "nothing"},
        {"config": {"x": 1}},
        {"tenant_id": "globex"},
        {"hook_id": "x"},
    ):
        assert acme("PUT", path, changes)[0] == 422
    assert acme("PUT", path, {"handler_ref": "os:system"})[1]["code"] == "handler_not_allowed"
    assert acme("GET", path) == (200, hook)


@pytest.mark.parametrize("reference", ["os:system", "subprocess:run", "spanhook.hookss:X", "builtins:eval"])
def test_only_handlers_on_the_list_are_imported(operator: Caller, reference: str) -> None:
    status, problem = operator("POST", json={**POLICY, "handler_ref": reference})
    assert (status, problem["code"]) == (422, "handler_not_allowed")


@pytest.mark.parametrize("reference", ["spanhook.hooks.audit_log:AuditLog", SERVICE["handler_ref"]])
def test_handlers_that_reach_outside_need_an_admin(acme: Caller, reference: str) -> None:
    status, problem = acme("POST", json={**POLICY, "handler_ref": reference, "config": {}})
    assert (status, problem["code"]) == (403, "scope_missing")


def test_an_event_has_so_many_hooks_and_no_more(all_of_them: Served) -> None:
    umbrella = Caller(all_of_them, "umbrella", "hooks:manage")
    hooks = [created(umbrella) for _ in range(20)]
    status, problem = umbrella("POST", json=POLICY)
    assert (status, problem["code"]) == (409, "too_many_hooks")
    umbrella("DELETE", f"/{hooks[0]['hook_id']}")
    created(umbrella)


def test_secrets_are_shown_to_nobody_and_kept(operator: Caller, all_of_them: Served) -> None:
    pytest.importorskip("httpx")
    status, hook = operator("POST", json=SERVICE)
    assert status == 201, hook
    path = f"/{hook['hook_id']}"
    assert hook["config"]["headers"] == {"x-opa": MASK}
    status, changed = operator("PUT", path, {"config": {**hook["config"], "timeout": 2}})
    assert (status, changed["config"]) == (200, {**hook["config"], "timeout": 2})
    every = (operator("GET"), operator("GET", path), operator("GET", f"{path}/history"), operator("DELETE", path))
    entries = all_of_them.with_database(audit.changes)
    assert "secret-" not in str([every, entries])
    status, problem = operator(
        "POST", json={**SERVICE, "config": {**SERVICE["config"], "url": f"https://{MASK}@x.example"}}
    )
    assert (status, problem["code"]) == (422, "invalid")


def test_every_change_is_in_the_audit_record(acme: Caller, all_of_them: Served) -> None:
    hook = created(acme)
    path = f"/{hook['hook_id']}"
    acme("PUT", path, {"priority": 7})
    acme("PUT", f"{path}/toggle", {"enabled": False})
    acme("DELETE", path)
    found = [one for one in all_of_them.with_database(audit.changes) if one["subject"] == hook["hook_id"]]
    assert [one["action"] for one in found] == ["hook.create", "hook.update", "hook.disable", "hook.delete"]
    assert {one["actor"] for one in found} == {acme.headers["Authorization"].split("_")[1]}
    assert {one["tenant"] for one in found} == {hook["tenant_id"]}


def test_a_dry_run_says_what_the_hook_does_and_what_it_leaves(acme: Caller) -> None:
    path = f"/{created(acme, enabled=False)['hook_id']}/test"
    status, tested = acme("POST", path, {"sample_context": {"name": "refund", "arguments": {"amount": 5}}})
    assert status == 200, tested
    assert (tested["result"]["decision"], tested["result"]["error"]) == ("reject", "ask first")
    assert (tested["context_after"]["abort"], tested["context_after"]["arguments"]) == (True, {"amount": 5})
    status, tested = acme("POST", path, {"sample_context": {"name": "search", "result": ["a"]}})
    assert (tested["result"]["decision"], tested["context_after"]["result"]) == ("allow", ["a"])


@pytest.mark.parametrize("sample", [{"unknown": 1}, {"arguments": 5}, {"messages": 5}, {"name": ["x"], "inputs": 1}])
def test_a_sample_that_cannot_be_used_is_a_mistake_of_the_caller(acme: Caller, sample: dict[str, Any]) -> None:
    status, problem = acme("POST", f"/{created(acme)['hook_id']}/test", {"sample_context": sample})
    assert status in (200, 422), problem


def entry(tenant: str, log_id: str, **fields: Any) -> ExecutionEntry:
    given: dict[str, Any] = {"event_type": "tool.execute.pre", "time_ns": 1_700_000_000_000_000_000, **fields}
    did = Execution("refunds", "reject", duration_ns=1_500_000, error="ask first", data={"status_code": 403})
    return ExecutionEntry(
        log_id=log_id, tenant_id=tenant, aborted=True, abort_reason="ask first", results=(did,), **given
    )


def test_logs_and_statistics_are_the_tenants_own(all_of_them: Served, operator: Caller) -> None:
    wayne, stark = Caller(all_of_them, "wayne", "hooks:read"), Caller(all_of_them, "stark", "hooks:read")
    entries = [entry("wayne", "one"), entry("wayne", "two", event_type="llm.call.pre"), entry("stark", "three")]
    all_of_them.with_database(lambda one: record_executions(one, entries))
    status, page = wayne("GET", "/logs")
    assert status == 200
    assert [one["log_id"] for one in page["logs"]] == ["two", "one"]
    assert [one["log_id"] for one in wayne("GET", "/logs", event="llm.call.pre")[1]["logs"]] == ["two"]
    status, one = wayne("GET", "/logs/one")
    assert (status, one["aborted"], one["hook_results"][0]["data"]) == (200, True, {"status_code": 403})
    assert (wayne("GET", "/logs/three")[0], stark("GET", "/logs/three")[0]) == (404, 200)
    assert {one["log_id"] for one in operator("GET", "/logs")[1]["logs"]} >= {"one", "two", "three"}
    first = wayne("GET", "/logs", limit=1)[1]
    assert [one["log_id"] for one in wayne("GET", "/logs", cursor=first["next_cursor"])[1]["logs"]] == ["one"]
    status, figures = wayne("GET", "/stats")
    assert (status, figures["executions"], figures["rejections"], figures["failures"]) == (200, 2, 2, 0)
    (tool, *_) = [one for one in figures["hooks"] if one["event_type"] == "tool.execute.pre"]
    assert 1 < tool["p50_ms"] < 2
    assert 1 < tool["p95_ms"] < 2


def test_statistics_count_the_hooks_that_are_seen(all_of_them: Served) -> None:
    cyberdyne = Caller(all_of_them, "cyberdyne", "hooks:manage")
    before = cyberdyne("GET", "/stats")[1]
    hooks = [created(cyberdyne), created(cyberdyne)]
    cyberdyne("PUT", f"/{hooks[0]['hook_id']}/toggle", {"enabled": False})
    after = cyberdyne("GET", "/stats")[1]
    assert after["total_hooks"] == after["total_definitions"] == before["total_hooks"] + 2
    assert after["by_event_type"]["tool.execute.pre"] == before["by_event_type"].get("tool.execute.pre", 0) + 2
    assert "tool.execute.pre" in after["event_types_active"]


TOOL = "spanhook.kind", "tool.execute"
BREAKER = f"{CircuitBreaker.__module__}:CircuitBreaker"


def recorded(server: Served, tenant: str, run: str, **attributes: str) -> None:
    """A run with one call of a tool, and a span of another instrumentation."""
    now = time.time_ns()
    given = {"spanhook.run.id": run, "gen_ai.tool.name": "refund", **attributes}
    times = {"startTimeUnixNano": str(now), "endTimeUnixNano": str(now + 10**6), "traceId": run[:1] * 32}
    own = [{"key": name, "value": {"stringValue": value}} for name, value in (*given.items(), TOOL)]
    spans = [
        {"spanId": "1" * 16, "name": "execute_tool refund", "attributes": own, **times},
        {"spanId": "2" * 16, "parentSpanId": "1" * 16, "name": "GET", **times},
    ]
    body = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    sent = server.client.post("/v1/traces", json=body, headers=server.key(tenant, "telemetry:write"))
    assert sent.json() == {}


def test_a_dry_run_on_a_recorded_operation(all_of_them: Served) -> None:
    server = all_of_them
    both = Caller(server, "acme", "hooks:manage", "runs:read")
    recorded(server, "acme", "a-run", **{"gen_ai.tool.call.arguments": '{"amount": 5}', "user.id": "ada"})
    recorded(server, "globex", "b-run")
    path = f"/{created(both, enabled=False)['hook_id']}/test"
    status, tested = both("POST", path, {"run": "a-run", "span": "1" * 16})
    assert status == 200, tested
    assert (tested["result"]["decision"], tested["not_captured"]) == ("reject", ["result"])
    expected = {"name": "refund", "tenant_id": "acme", "user_id": "ada", "arguments": {"amount": 5}}
    assert tested["sample_context"] == expected
    instead = {"name": "search", "result": 1}
    status, tested = both("POST", path, {"run": "a-run", "span": "1" * 16, "sample_context": instead})
    assert (tested["result"]["decision"], tested["context_after"]["result"], tested["not_captured"]) == ("allow", 1, [])

    for run, span, expects in (
        ("b-run", "1" * 16, (404, "not_found")),  # another tenant's is not there
        ("c-run", "1" * 16, (404, "not_found")),
        ("a-run", "3" * 16, (404, "not_found")),
        ("a-run", "2" * 16, (422, "invalid")),
    ):
        status, problem = both("POST", path, {"run": run, "span": span})
        assert (status, problem["code"]) == expects
    other = created(both, event="llm.call", handler_ref=BREAKER, config={})
    assert both("POST", f"/{other['hook_id']}/test", {"run": "a-run", "span": "1" * 16})[0] == 422
    for given in ({}, {"run": "a-run"}, {"span": "1" * 16}, {"sample_context": None}):
        assert both("POST", path, given)[0] == 422


def test_a_recorded_operation_needs_the_scope_of_runs(all_of_them: Served, acme: Caller) -> None:
    recorded(all_of_them, "acme", "d-run")
    status, problem = acme("POST", f"/{created(acme)['hook_id']}/test", {"run": "d-run", "span": "1" * 16})
    assert (status, problem["code"]) == (403, "scope_missing")
