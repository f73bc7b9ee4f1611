"""Hostile input on every route and page: names no different thing, finds nothing, and breaks nothing."""

import gzip
import json
from collections.abc import Generator
from typing import Any

import pytest
from fastapi.routing import APIRoute

from spanhook.server import SCOPES
from spanhook.server.app import api_routes, page_routes
from tests.server.routes.test_runs import run, send
from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token
from tests.server.test_every_route import GUARDED, HOOK, IN_PATHS, NAMED, PAGES, ask

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
IDS = [
    "../../etc/passwd", "%2e%2e%2fetc", "' OR 1=1 --", '"; DROP TABLE spanhook_hooks; --', "%00", "<script>", "é" * 60,
    "%", "_", "a" * 201, "\u202e", "%F0%9F%92%A9", "%ff",
]  # fmt: skip
TEXTS = [
    "' OR '1'='1", "'; DROP TABLE spanhook_hooks; --", "%", "\0", "<script>alert(1)</script>", "../../etc/passwd",
    "9" * 400, "-1", "\u202e\U0001f4a9", "{{7*7}}",
]  # fmt: skip
BOMB = gzip.compress(b" " * 40_000_000)
DEEP = [b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    settings: dict[str, Any] = {"rate": "1000000/minute", "failures": "1000000/minute"}
    settings["webhooks"] = {"key_env": "SPANHOOK_TEST_SECRET"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("hostile"), api_keys=True, tokens=TOKENS, **settings) as one:
            send(one, "globex", run("globex", 0))
            yield one


@pytest.fixture(scope="module")
def theirs(server: Served) -> str:
    """The id of another tenant's hook, which is never found and stays as it is."""
    hook = {**HOOK, "name": "of globex"}
    made = server.client.post("/v1/hooks", json=hook, headers=bearer(token("globex", ["hooks:manage"])))
    assert made.status_code == 201, made.text
    return made.json()["hook_id"]


@pytest.fixture(autouse=True)
def unharmed(server: Served, theirs: str) -> Generator[None]:
    yield
    found = server.client.get(f"/v1/hooks/{theirs}", headers=bearer(token("globex", ["hooks:read"])))
    assert (found.status_code, found.json()["version"]) == (200, 1)


@pytest.mark.parametrize("row", NAMED, ids=" ".join)
def test_ids_are_only_ids_that_there_are_not(server: Served, row: tuple[str, str]) -> None:
    for text in IDS:
        status, _ = ask(server, row, bearer(token("acme", SCOPES)), **dict.fromkeys(IN_PATHS, text))
        assert status in (404, 405, 415, 422), text  # 415: a form, and the path has become that of no page


READ = [
    it for it in (*api_routes(), *page_routes()) if "GET" in (it.methods or ()) and not it.path.startswith("/events")
]
"""What is read; ``/events`` takes no parameters and does not end."""


@pytest.mark.slow
@pytest.mark.parametrize("route", READ, ids=lambda it: it.path)
def test_parameters_find_nothing_and_break_nothing(server: Served, theirs: str, route: APIRoute) -> None:
    headers = {**bearer(token("acme", SCOPES)), "Accept": "text/html"}
    ids = dict.fromkeys(IN_PATHS, "x")
    known = [one.alias for one in route.dependant.query_params] + ["unknown"]
    for name in known:
        for text in TEXTS:
            answer = server.client.get(route.path.format(**ids), params={name: text}, headers=headers)
            assert answer.status_code in (200, 303, 400, 404, 422) or route.path == "/metrics", (name, text)
            assert theirs not in answer.text
            assert "of globex" not in answer.text
            assert "<script>alert" not in answer.text or "html" not in answer.headers["content-type"], name


def test_every_parameter_is_tried() -> None:
    assert sum(len(one.dependant.query_params) for one in READ) > 40


JSON = [row for row in GUARDED if row[0] in ("POST", "PUT") and row not in PAGES]


@pytest.mark.parametrize("row", JSON, ids=" ".join)
def test_deep_odd_and_inflated_bodies_are_refused(server: Served, row: tuple[str, str]) -> None:
    method, path = row
    url = path.format(**dict.fromkeys(IN_PATHS, "x"))
    headers = {**bearer(token("acme", SCOPES)), "Content-Type": "application/json"}
    for body in (*DEEP, b"\xff\xfe", b"1e999", b'"', b'{"a": ' + b"9" * 5000 + b"}", BOMB):
        more = {"Content-Encoding": "gzip"} if body is BOMB else {}
        answer = server.client.request(method, url, content=body, headers={**headers, **more})
        assert 400 <= answer.status_code < 500, body[:20]
        assert answer.headers["content-type"] == "application/problem+json"


def test_odd_definitions_are_refused(server: Served) -> None:
    headers = {**bearer(token("acme", SCOPES)), "Content-Type": "application/json"}
    priority = json.dumps({**HOOK, "priority": 0}).replace(": 0", f": {'9' * 5000}")
    odd = [{**HOOK, "name": "\ud800"}, {**HOOK, "config": nested(900)}, [], None]
    for body in (priority, *map(json.dumps, odd)):
        answer = server.client.post("/v1/hooks", content=body, headers=headers)
        assert answer.status_code in (400, 422), body[:80]


@pytest.mark.parametrize("depth", [51, 150, 400, 900])
def test_what_could_be_stored_and_not_be_shown_is_refused(server: Served, theirs: str, depth: int) -> None:
    headers, json = bearer(token("globex", ["hooks:manage"])), nested(depth)
    for method, path, body in (
        ("POST", "/v1/hooks", {**HOOK, "config": json}),
        ("PUT", f"/v1/hooks/{theirs}", {"config": json}),
        ("POST", f"/v1/hooks/{theirs}/test", {"sample_context": json}),
    ):
        answer = server.client.request(method, path, json=body, headers=headers)
        assert (answer.status_code, "more than 50 levels" in answer.text) == (422, True)


def test_deep_messages_are_text_on_the_page_of_their_run(server: Served) -> None:
    agent, model = run("hooli", 1)
    for name, deep in (("gen_ai.input.messages", "[" * 50_000), ("gen_ai.system_instructions", '{"a":' * 50_000)):
        model["attributes"].append({"key": name, "value": {"stringValue": deep}})
    send(server, "hooli", [agent, model])
    headers = {**bearer(token("hooli", ["runs:read"])), "Accept": "text/html"}
    for path in ("/v1/runs/hooli-1", "/runs/hooli-1"):
        assert server.client.get(path, headers=headers).status_code == 200


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = {"default": found}
    return found


def test_deep_settings_in_a_form_are_refused(server: Served) -> None:
    headers = {**bearer(token("acme", SCOPES)), **FORM, "Accept": "text/html"}
    for body in (*DEEP, json.dumps(nested(100)).encode(), json.dumps(nested(400)).encode()):
        fields = {"handler_ref": HOOK["handler_ref"], "name": "x", "event_type": "tool.execute.pre",
                  "config.rules": body.decode()}  # fmt: skip
        answer = server.client.post("/hooks", data=fields, headers=headers)
        assert answer.status_code in (400, 413, 422), answer.text[-300:]
