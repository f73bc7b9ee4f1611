"""Every route, tried by everybody who may not use it. A new route needs a row in ``ROWS``."""

import itertools
import time
from collections.abc import Generator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from spanhook.server import SCOPES
from spanhook.server.app import api_routes, page_routes
from spanhook.server.guard import PUBLIC
from spanhook.server.needs import needs_of
from spanhook.server.scopes import scopes_of
from tests.server.serving import AUDIENCE, ISSUER, SECRET, TOKENS, Served, bearer, served, token

HOOK = {
    "name": "x",
    "event_type": "tool.execute.pre",
    "handler_ref": "spanhook.hooks.tool_policy:ToolPolicy",
    "config": {"default": "deny"},
}
ROWS: dict[tuple[str, str], tuple[str | None, Any]] = {
    ("GET", "/healthz"): (None, None),
    ("GET", "/readyz"): (None, None),
    ("GET", "/metrics"): ("usage:read", None),
    ("GET", "/v1/hooks"): ("hooks:read", None),
    ("POST", "/v1/hooks"): ("hooks:manage", HOOK),
    ("GET", "/v1/hooks/logs"): ("hooks:read", None),
    ("GET", "/v1/hooks/logs/{log_id}"): ("hooks:read", None),
    ("GET", "/v1/hooks/stats"): ("hooks:read", None),
    ("GET", "/v1/hooks/{hook_id}"): ("hooks:read", None),
    ("PUT", "/v1/hooks/{hook_id}"): ("hooks:manage", {"priority": 1}),
    ("DELETE", "/v1/hooks/{hook_id}"): ("hooks:manage", None),
    ("PUT", "/v1/hooks/{hook_id}/toggle"): ("hooks:manage", {"enabled": False}),
    ("POST", "/v1/hooks/{hook_id}/test"): ("hooks:manage", {"sample_context": {}}),
    ("GET", "/v1/hooks/{hook_id}/history"): ("hooks:read", None),
    ("GET", "/v1/sync"): ("hooks:sync", None),
    ("POST", "/v1/sync/reports"): ("hooks:sync", {"process_id": "1"}),
    ("GET", "/v1/processes"): ("hooks:read", None),
    ("GET", "/v1/policy"): ("policies:manage", None),
    ("PUT", "/v1/policy"): ("policies:manage", {"content": ""}),
    ("GET", "/v1/policy/history"): ("policies:manage", None),
    ("POST", "/v1/policy/rollback"): ("policies:manage", {"version": 1}),
    ("GET", "/v1/approvals"): ("approvals:decide", None),
    ("GET", "/v1/approvals/{id}"): ("approvals:decide", None),
    ("POST", "/v1/approvals/{id}/approve"): ("approvals:decide", {}),
    ("POST", "/v1/approvals/{id}/deny"): ("approvals:decide", {}),
    ("GET", "/v1/runs"): ("runs:read", None),
    ("GET", "/v1/runs/{run_id}"): ("runs:read", None),
    ("GET", "/v1/decisions"): ("runs:read", None),
    ("GET", "/v1/usage"): ("usage:read", None),
    ("GET", "/v1/budgets"): ("usage:read", None),
    ("GET", "/v1/agents"): ("jobs:run", None),
    ("POST", "/v1/agents/{name}"): ("jobs:run", {"input": None}),
    ("GET", "/v1/jobs"): ("jobs:read", None),
    ("GET", "/v1/jobs/{job_id}"): ("jobs:read", None),
    ("GET", "/v1/jobs/{job_id}/stream"): ("jobs:read", None),
    ("POST", "/v1/jobs/{job_id}/cancel"): ("jobs:run", {}),
    ("DELETE", "/v1/jobs/{job_id}"): ("jobs:run", None),
    ("GET", "/v1/schedules"): ("jobs:read", None),
    ("GET", "/v1/schedules/{schedule_id}"): ("jobs:read", None),
    ("POST", "/v1/traces"): ("telemetry:write", {"resourceSpans": []}),
    ("POST", "/v1/metrics"): ("telemetry:write", {"resourceMetrics": []}),
    ("POST", "/v1/webhooks"): ("webhooks:manage", {"url": "https://hooks.example/"}),
    ("GET", "/v1/webhooks"): ("webhooks:manage", None),
    ("GET", "/v1/webhooks/{webhook_id}"): ("webhooks:manage", None),
    ("PATCH", "/v1/webhooks/{webhook_id}"): ("webhooks:manage", {}),
    ("DELETE", "/v1/webhooks/{webhook_id}"): ("webhooks:manage", None),
    ("POST", "/v1/webhooks/{webhook_id}/secret"): ("webhooks:manage", {}),
    ("POST", "/v1/webhooks/{webhook_id}/test"): ("webhooks:manage", {}),
    ("GET", "/v1/webhooks/{webhook_id}/deliveries"): ("webhooks:manage", None),
    ("POST", "/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend"): ("webhooks:manage", {}),
    ("POST", "/v1/logs"): ("telemetry:write", {"resourceLogs": []}),
}
"""Method and path of each route, with the scope that it needs (``None``: it is public) and a body that it takes."""
PAGES: dict[tuple[str, str], tuple[str | None, Any]] = {
    ("GET", "/"): (None, None),
    ("GET", "/login"): (None, None),
    ("POST", "/login"): (None, {"key": "shk_"}),
    ("POST", "/logout"): (None, {}),
    ("GET", "/login/openid"): (None, None),
    ("GET", "/login/callback"): (None, None),
    ("GET", "/static/pages.css"): (None, None),
    ("GET", "/static/pages.js"): (None, None),
    ("GET", "/static/icon.svg"): (None, None),
    ("GET", "/events/runs"): ("runs:read", None),
    ("GET", "/events/usage"): ("usage:read", None),
    ("GET", "/events/hooks"): ("hooks:read", None),
    ("GET", "/events/approvals"): ("approvals:decide", None),
    ("GET", "/events/webhooks"): ("webhooks:manage", None),
    ("GET", "/events/webhooks/{webhook_id}"): ("webhooks:manage", None),
    ("GET", "/events/jobs"): ("jobs:read", None),
    ("GET", "/events/schedules"): ("jobs:read", None),
    ("GET", "/events/jobs/{job_id}"): ("jobs:read", None),
    ("GET", "/jobs"): ("jobs:read", None),
    ("GET", "/jobs/{job_id}"): ("jobs:read", None),
    ("POST", "/jobs/{job_id}/cancel"): ("jobs:run", {}),
    ("POST", "/jobs/{job_id}/delete"): ("jobs:run", {}),
    ("GET", "/runs"): ("runs:read", None),
    ("GET", "/runs/{run_id}"): ("runs:read", None),
    ("GET", "/decisions"): ("runs:read", None),
    ("GET", "/schedules"): ("jobs:read", None),
    ("GET", "/usage"): ("usage:read", None),
    ("GET", "/budgets"): ("usage:read", None),
    ("GET", "/hooks"): ("hooks:read", None),
    ("GET", "/hooks/{hook_id}/test"): ("hooks:manage", None),
    ("POST", "/hooks/{hook_id}/test"): ("hooks:manage", {"sample": "{}"}),
    ("POST", "/hooks"): ("hooks:manage", {"handler_ref": HOOK["handler_ref"], "name": "x"}),
    ("GET", "/hooks/new"): ("hooks:manage", None),
    ("GET", "/hooks/{hook_id}"): ("hooks:read", None),
    ("POST", "/hooks/{hook_id}"): ("hooks:manage", {"priority": "1"}),
    ("POST", "/hooks/{hook_id}/enabled"): ("hooks:manage", {"enabled": "false"}),
    ("POST", "/hooks/{hook_id}/mode"): ("hooks:manage", {"mode": "shadow"}),
    ("POST", "/hooks/{hook_id}/delete"): ("hooks:manage", {}),
    ("GET", "/approvals"): ("approvals:decide", None),
    ("POST", "/approvals/{id}/approve"): ("approvals:decide", {}),
    ("POST", "/approvals/{id}/deny"): ("approvals:decide", {}),
    ("GET", "/webhooks"): ("webhooks:manage", None),
    ("GET", "/webhooks/new"): ("webhooks:manage", None),
    ("POST", "/webhooks"): ("webhooks:manage", {"url": "https://hooks.example/", "everything": "true"}),
    ("GET", "/webhooks/{webhook_id}"): ("webhooks:manage", None),
    ("POST", "/webhooks/{webhook_id}"): ("webhooks:manage", {"url": "https://hooks.example/", "everything": "true"}),
    ("POST", "/webhooks/{webhook_id}/enabled"): ("webhooks:manage", {"enabled": "false"}),
    ("POST", "/webhooks/{webhook_id}/secret"): ("webhooks:manage", {}),
    ("POST", "/webhooks/{webhook_id}/test"): ("webhooks:manage", {}),
    ("POST", "/webhooks/{webhook_id}/deliveries/{delivery_id}/resend"): ("webhooks:manage", {}),
    ("POST", "/webhooks/{webhook_id}/delete"): ("webhooks:manage", {}),
}
"""The same of the web pages, with the forms that they take."""

EVERY = {**ROWS, **PAGES}
GUARDED = [row for row, (scope, _) in EVERY.items() if scope is not None]
OTHER_KEY = rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
    settings["webhooks"] = {"key_env": "SPANHOOK_TEST_SECRET"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("all"), api_keys=True, tokens=TOKENS, **settings) as one:
            yield one


@pytest.fixture(scope="module")
def theirs(server: Served) -> str:
    """The id of another tenant's hook."""
    made = server.client.post("/v1/hooks", json=HOOK, headers=bearer(token("globex", ["hooks:manage"])))
    assert made.status_code == 201, made.text
    return made.json()["hook_id"]


IN_PATHS = ("hook_id", "log_id", "run_id", "id", "name", "job_id", "webhook_id", "delivery_id", "schedule_id")
"""What is named in the paths of routes."""


def ask(server: Served, row: tuple[str, str], headers: dict[str, str], query: str = "", **ids: str) -> tuple[int, str]:
    method, path = row
    given = {**dict.fromkeys(IN_PATHS, "0"), "hook_id": "hook_000000000000", "webhook_id": "wh_0", **ids}
    body: dict[str, Any] = {"json" if row in ROWS else "data": EVERY[row][1]}
    if row in PAGES and method == "POST":
        headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    with server.client.stream(method, path.format(**given) + query, headers=headers, **body) as response:
        if response.headers.get("content-type") != "application/problem+json":
            return response.status_code, ""
        response.read()
        return response.status_code, response.json()["code"]


def test_the_document_has_the_same_routes(server: Served) -> None:
    paths = server.client.get("/openapi.json").json()["paths"]
    assert {(method.upper(), path) for path, methods in paths.items() for method in methods} == set(ROWS)


def test_every_route_has_a_row_and_asks_for_what_it_says() -> None:
    found = {
        (method, route.path): getattr(needs_of(route), "scope", None)
        for route in (*api_routes(), *page_routes())
        for method in route.methods or ()
    }
    assert found == {row: scope for row, (scope, _) in EVERY.items()}
    assert {path for (_, path), (scope, _) in EVERY.items() if scope is None} == PUBLIC - {"/openapi.json"}


OPEN = {"/healthz", "/readyz", "/metrics", "/v1/traces", "/v1/metrics", "/v1/logs"}
"""Routes whose callers may add query parameters of their own."""


@pytest.mark.parametrize("row", ROWS, ids=" ".join)
def test_a_query_parameter_that_a_route_does_not_take_is_refused(server: Served, row: tuple[str, str]) -> None:
    method, path = row
    status, code = ask(server, (method, path), bearer(token("acme", SCOPES)), query="?zzz=1")
    assert ((status, code) == (422, "invalid")) == (path not in OPEN)


NOW = int(time.time())
NO_KEY: Any = None
UNSIGNED = jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 60}, NO_KEY, "none")
FORGED = {
    "nobody": {},
    "an empty token": bearer("x"),
    "an expired token": bearer(token("acme", SCOPES, exp=NOW - 3600)),
    "a token that is not valid yet": bearer(token("acme", SCOPES, nbf=NOW + 3600)),
    "a token without expiry": bearer(token("acme", SCOPES, exp=None)),
    "a token of another issuer": bearer(token("acme", SCOPES, iss="https://evil.example")),
    "a token for another audience": bearer(token("acme", SCOPES, aud="other")),
    "a token without tenant": bearer(token(None, SCOPES)),
    "a token of another secret": bearer(token("acme", SCOPES, key="another secret of thirty-two bytes!")),
    "a token of another algorithm": bearer(token("acme", SCOPES, key=SECRET * 2, algorithm="HS512")),
    "a token of another kind of key": bearer(token("acme", SCOPES, key=OTHER_KEY, algorithm="RS256")),
    "an unsigned token": bearer(UNSIGNED),
    "a token without its signature": bearer(token("the operators", SCOPES).rpartition(".")[0] + "."),
    "another token's signature": bearer(
        token("the operators", SCOPES).rpartition(".")[0] + "." + token("acme", SCOPES).rpartition(".")[2]
    ),
    "a key that nobody made": bearer("shk_000000000000_" + "a" * 43),
    "credentials of another kind": {"Authorization": "Basic b3BlcmF0b3I6b3BlcmF0b3I="},
    "credentials elsewhere": {"X-API-Key": token("acme", SCOPES), "Cookie": f"session={token('acme', SCOPES)}"},
    "a token as a session": {"Cookie": f"spanhook_session={token('acme', SCOPES)}"},
    "a key as a session": {"Cookie": f"spanhook_session=shk_000000000000_{'a' * 43}"},
    "a forged session": {"Cookie": f"spanhook_session={'0' * 12}.{NOW + 3600}.{'a' * 95}"},
}


@pytest.mark.parametrize("row", GUARDED, ids=" ".join)
def test_nobody_gets_in_with_forged_credentials(server: Served, theirs: str, row: tuple[str, str]) -> None:
    for name, headers in FORGED.items():
        status, code = ask(server, row, headers, hook_id=theirs)
        assert (status, code[:12]) == (401, "credentials_"), name


@pytest.mark.parametrize("row", GUARDED, ids=" ".join)
def test_nobody_gets_in_with_other_scopes(server: Served, theirs: str, row: tuple[str, str]) -> None:
    needed = EVERY[row][0]
    enough = [one for one in SCOPES if needed in scopes_of([one], operator=True)]
    others = [one for one in SCOPES if one not in enough]
    for scopes in (*([one] for one in others), others, [], ["*"], [f"{needed} "[:-2]], ["HOOKS:ADMIN"]):
        for tenant in ("globex", "the operators"):
            status, code = ask(server, row, bearer(token(tenant, scopes)), hook_id=theirs)
            assert (status, code) == (403, "scope_missing"), scopes
    for scope in enough:
        tenant = "the operators" if row[1] == "/metrics" else "globex"
        assert ask(server, row, bearer(token(tenant, [scope])))[1] not in ("scope_missing", "operators_only")


NAMED = [row for row in GUARDED if "{" in row[1]]


@pytest.mark.parametrize("row", NAMED, ids=" ".join)
def test_nobody_gets_at_what_is_anothers(server: Served, theirs: str, row: tuple[str, str]) -> None:
    for tenant, scopes in itertools.product(("acme", "globex2", "GLOBEX", "globex ", "%"), (SCOPES, ["hooks:admin"])):
        if EVERY[row][0] in scopes_of(scopes, operator=False):
            assert ask(server, row, bearer(token(tenant, scopes)), hook_id=theirs) == (404, "not_found"), tenant
    mine = server.client.get(f"/v1/hooks/{theirs}", headers=bearer(token("globex", ["hooks:read"])))
    assert (mine.status_code, mine.json()["version"]) == (200, 1)
