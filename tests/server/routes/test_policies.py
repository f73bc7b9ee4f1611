from collections.abc import Generator
from typing import Any

import pytest

from spanhook.server import audit
from tests.server.serving import Served, served

ONE = "policies: [{use: tool_policy, id: one, with: {default: deny}}]"
TWO = ONE.replace("one", "two")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with served(tmp_path_factory.mktemp("policies"), api_keys=True, rate="100000/minute") as one:
        yield one


class Caller:
    """A caller with an API key."""

    def __init__(self, server: Served, tenant: str, *scopes: str) -> None:
        self.client, self.headers = server.client, server.key(tenant, *scopes)

    def __call__(self, method: str, path: str = "", json: Any = None, **params: Any) -> tuple[int, Any]:
        response = self.client.request(method, f"/v1/policy{path}", json=json, params=params, headers=self.headers)
        return response.status_code, response.json()


@pytest.fixture
def admin(server: Served, request: pytest.FixtureRequest) -> Caller:
    """Who manages the policies of a tenant of the test's own."""
    return Caller(server, request.node.name, "policies:manage")


@pytest.fixture
def operator(server: Served) -> Caller:
    return Caller(server, "", "hooks:admin")


def test_there_is_no_policy_before_the_first(admin: Caller) -> None:
    status, found = admin("GET")
    assert (status, found["version"], found["content"], found["created_at"]) == (200, 0, "", None)


def test_every_version_is_kept_and_can_be_gone_back_to(admin: Caller, server: Served) -> None:
    versions = [admin("PUT", json={"content": text, "comment": "x"})[1]["version"] for text in (ONE, TWO)]
    assert versions == sorted(set(versions))
    status, back = admin("POST", "/rollback", {"version": versions[0]})
    assert (status, back["content"], back["comment"]) == (200, ONE, f"back to version {versions[0]}")
    assert back["version"] > versions[1]
    assert admin("GET")[1] == back
    history = admin("GET", "/history")[1]["versions"]
    assert [one["version"] for one in history] == [back["version"], *reversed(versions)]
    page = admin("GET", "/history", limit=2)[1]
    rest = admin("GET", "/history", limit=2, cursor=page["next_cursor"])[1]
    assert page["versions"] + rest["versions"] == history
    assert admin("POST", "/rollback", {"version": back["version"] + 100})[0] == 404

    recorded = server.with_database(audit.changes)
    mine = [one for one in recorded if one["tenant"] == back["tenant_id"]]
    told = [(one["action"], one["subject"]) for one in mine if one["action"].startswith("policy")]
    assert told == [
        ("policy.put", str(versions[0])),
        ("policy.put", str(versions[1])),
        ("policy.rollback", str(back["version"])),
    ]


def test_two_who_change_the_same_version_do_not_overwrite_each_other(admin: Caller) -> None:
    status, first = admin("PUT", json={"content": ONE, "expected_version": 0})
    assert status == 200
    status, problem = admin("PUT", json={"content": TWO, "expected_version": 0})
    assert (status, problem["code"]) == (409, "conflict")
    assert admin("PUT", json={"content": TWO, "expected_version": first["version"]})[0] == 200


@pytest.mark.parametrize(
    ("content", "place", "said"),
    [
        ("hooks: {path: './evil.py:hooks'}", "hooks (line 1)", "cannot be shared"),
        ("stores: {default: 'sqlite:///x.db'}", "stores (line 1)", "cannot be shared"),
        ("control_plane: {url: 'https://evil.example'}", "control_plane (line 1)", "cannot be shared"),
        ("settings: {definitions_allow: [os]}", "settings.definitions_allow (line 1)", "cannot be shared"),
        ("settings: {hooks_definitions_dir: /x}", "settings.hooks_definitions_dir (line 1)", "cannot be shared"),
        ("settings: {content: SPAN_ONLY}", "settings.content (line 1)", "cannot be shared"),
        ("settings: {strict: false}", "settings.strict (line 1)", "cannot be shared"),
        ("settings: {chain_timeout_ms: 0}", "settings.chain_timeout_ms (line 1)", "greater than 0"),
        ("mode: perhaps", "mode (line 1)", "expected 'enforce', 'shadow' or 'off'"),
        ("\npolicies: [{use: tool_polcy, id: a}]", "policies[0].use (line 2)", "did you mean 'tool_policy'"),
        ("policies: [{use: tool_policy, id: a, with: {rules: 1}}]", "policies[0].with.rules (line 1)", "expected"),
        ("policies: [", "policy (line 1)", "is not valid YAML"),
        ("[]", "policy (line 1)", "expected keys"),
        ("!!python/object/apply:os.system [id]", "policy (line 1)", ""),
    ],
)
def test_a_policy_with_mistakes_is_not_taken(admin: Caller, content: str, place: str, said: str) -> None:
    status, problem = admin("PUT", json={"content": content})
    assert (status, problem["code"]) == (422, "invalid"), problem
    assert said in problem["errors"][0]["message"]
    assert problem["errors"][0]["place"] == place
    assert admin("GET")[1]["version"] == 0


def test_secrets_do_not_belong_in_a_policy(admin: Caller) -> None:
    secret = "with: {service: opa, url: 'https://opa.example/x', headers: {authorization: hunter2}}"
    status, problem = admin("PUT", json={"content": f"policies: [{{use: remote_policy, id: a, {secret}}}]"})
    assert (status, problem["detail"]) == (
        422,
        "a policy has a secret in it; name an environment variable of the processes instead",
    )
    assert "hunter2" not in str(problem)


def test_settings_and_the_mode_can_be_shared(operator: Caller) -> None:
    text = "mode: shadow\nsettings: {hooks_chain_timeout_ms: 5, tenant_metrics: true}"
    assert operator("PUT", json={"content": text}, tenant="shared")[0] == 200


SETTINGS = ("mode: shadow", "mode: 'off'", "settings: {hooks_enabled: false}", "settings: {fail_open_default: true}")


@pytest.mark.parametrize("scope", ["policies:manage", "hooks:admin"])
def test_a_tenant_changes_nothing_but_policies(server: Served, operator: Caller, scope: str) -> None:
    tenant = f"nothing-but-{scope}"
    mine = Caller(server, tenant, scope)
    for settings in SETTINGS:
        status, problem = mine("PUT", json={"content": f"{settings}\n{ONE}"})
        assert (status, problem["code"]) == (403, "scope_missing")
        assert "leave them as they are in version 0" in problem["detail"]
    versions = [operator("PUT", json={"content": text}, tenant=tenant)[1]["version"] for text in (SETTINGS[0], ONE)]
    status, problem = mine("POST", "/rollback", {"version": versions[0]})
    assert (status, problem["code"]) == (403, "scope_missing")
    strict = "mode: enforce\nsettings: {fail_open_default: false}\n"
    assert operator("PUT", json={"content": strict + ONE}, tenant=tenant)[0] == 200
    for taken, status in ((TWO, 403), (strict.replace("false", "true") + TWO, 403), (strict + TWO, 200)):
        assert mine("PUT", json={"content": taken})[0] == status
    assert mine("GET")[1]["content"] == strict + TWO


def test_a_tenant_names_no_policy_that_reaches_outside(server: Served, operator: Caller) -> None:
    mine = Caller(server, "inside", "policies:manage")
    log = "{use: audit_log, id: log, with: {path: audit}}"
    budget = "{use: budget, id: daily, with: {per: user, window: day, usd: 20, store: counters}}"
    elsewhere = budget.replace("counters", "'redis://10.0.0.1/0'")
    for policy in (log, elsewhere):
        status, problem = mine("PUT", json={"content": f"policies: [{policy}]"})
        assert (status, problem["code"], "tenant_handlers" in problem["detail"]) == (403, "scope_missing", True)
    assert mine("PUT", json={"content": f"policies: [{budget}]"})[0] == 200
    assert operator("PUT", json={"content": f"policies: [{log}]"}, tenant="inside")[0] == 200
    assert mine("PUT", json={"content": f"policies: [{log}, {budget}]"})[0] == 200  # it may stay as it is
    for changed in (log.replace("path: audit", "path: other"), log.replace("id: log", "id: log, mode: shadow")):
        assert mine("PUT", json={"content": f"policies: [{changed}]"})[0] == 403


def test_what_is_for_all_tenants_is_the_operators(server: Served, operator: Caller) -> None:
    version = operator("PUT", json={"content": ONE}, tenant="")[1]["version"]
    mine = Caller(server, "acme", "hooks:admin", "policies:manage", "hooks:manage")
    for method, path, body in (
        ("GET", "", None),
        ("PUT", "", {"content": TWO}),
        ("GET", "/history", None),
        ("POST", "/rollback", {"version": version}),
    ):
        status, problem = mine(method, path, body, tenant="")
        assert (status, problem["code"]) == (403, "scope_missing")
    manager = Caller(server, "", "policies:manage")
    assert manager("PUT", json={"content": TWO}, tenant="")[0] == 403
    assert manager("PUT", json={"content": TWO}, tenant="acme")[0] == 200
    assert operator("GET", tenant="")[1]["version"] == version


def test_only_those_who_manage_policies_see_and_change_them(server: Served) -> None:
    for scope in ("hooks:manage", "hooks:read", "hooks:sync"):
        other = Caller(server, "acme", scope)
        for method, path, body in (
            ("GET", "", None),
            ("PUT", "", {"content": "mode: off"}),
            ("GET", "/history", None),
            ("POST", "/rollback", {"version": 1}),
        ):
            status, problem = other(method, path, body)
            assert (status, problem["code"]) == (403, "scope_missing")


def test_another_tenants_policies_are_nobody_elses(server: Served) -> None:
    mine, other = Caller(server, "mine", "policies:manage"), Caller(server, "other", "hooks:admin")
    version = mine("PUT", json={"content": ONE})[1]["version"]
    for method, path, body in (
        ("GET", "", None),
        ("PUT", "", {"content": TWO}),
        ("GET", "/history", None),
        ("POST", "/rollback", {"version": version}),
    ):
        assert other(method, path, body, tenant="mine")[0] == 404
    assert other("POST", "/rollback", {"version": version})[0] == 404
    assert mine("GET")[1]["version"] == version
    foreign = "policies: [{use: tool_policy, id: a, tenant_id: mine, with: {default: deny}}]"
    assert other("PUT", json={"content": foreign})[0] == 422
    operator = Caller(server, "", "hooks:admin")
    assert operator("GET", tenant="mine")[1]["version"] == version
