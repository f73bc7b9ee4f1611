"""``/v1/webhooks``, with a server that delivers to a real receiver."""

import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from spanhook.server.cron_states import CRON_EVENTS
from tests.server.serving import SECRET, TOKENS, Served, bearer, served, token
from tests.webhooks.receiver import receiving

MANAGE = bearer(token("acme", ["webhooks:manage"]))
OTHER = bearer(token("globex", ["webhooks:manage"]))
OPERATOR = bearer(token("the operators", ["webhooks:manage"]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    webhooks = {"key_env": "SPANHOOK_TEST_SECRET", "allowed_networks": ["127.0.0.1/32"], "plain_http": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("webhooks"), tokens=TOKENS, webhooks=webhooks) as one:
            yield one


def made(server: Served, url: str, **fields: Any) -> dict[str, Any]:
    response = server.client.post("/v1/webhooks", json={"url": url, **fields}, headers=MANAGE)
    assert response.status_code == 201, response.text
    return response.json()


def asked(server: Served, method: str, path: str, headers: dict[str, str] = MANAGE, **given: Any) -> dict[str, Any]:
    response = server.client.request(method, f"/v1/webhooks{path}", headers=headers, **given)
    assert response.status_code < 300, response.text
    return response.json()


def until(found: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not found():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_webhook_from_its_creation_to_its_end(server: Served) -> None:
    with receiving((500, {"Retry-After": "600"})) as receiver:
        hook = made(server, receiver.url, events=["job.*"])
        path, receiver.secret = f"/{hook['webhook_id']}", hook.pop("secret")
        assert asked(server, "GET", path) == hook
        assert hook in asked(server, "GET", "")["webhooks"]
        ping = asked(server, "POST", f"{path}/test", json={})
        assert (ping["state"], ping["event_type"]) == ("pending", "webhook.ping")
        until(lambda: len(receiver.requests) == 1)
        changed = asked(server, "PATCH", path, json={"description": "ours", "enabled": False})
        assert (changed["description"], changed["enabled"], changed["events"]) == ("ours", False, ["job.*"])
        asked(server, "POST", f"{path}/test", json={})
        until(lambda: len(receiver.events) == 1)
        until(lambda: len(asked(server, "GET", f"{path}/deliveries?state=delivered")["deliveries"]) == 1)
        second, first = asked(server, "GET", f"{path}/deliveries")["deliveries"]
        assert (first["state"], first["tried"][0]["status"], second["state"]) == ("pending", 500, "delivered")
        refused = server.client.post(
            f"/v1/webhooks{path}/deliveries/{first['delivery_id']}/resend", json={}, headers=MANAGE
        )
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        asked(server, "PATCH", path, json={"enabled": True})
        again = asked(server, "POST", f"{path}/deliveries/{second['delivery_id']}/resend", json={})
        assert again["event_id"] == second["event_id"]
        until(lambda: len(receiver.events) == 2)
        assert [event["id"] for event in receiver.events] == [second["event_id"]] * 2
        assert asked(server, "DELETE", path)["webhook_id"] == hook["webhook_id"]
        assert server.client.get(f"/v1/webhooks{path}", headers=MANAGE).status_code == 404


def test_a_secret_is_replaced(server: Served) -> None:
    with receiving() as receiver:
        hook = made(server, receiver.url)
        path = f"/{hook['webhook_id']}"
        new = asked(server, "POST", f"{path}/secret", json={"keep_seconds": 60})["secret"]
        assert new != hook["secret"]
        for number, receiver.secret in enumerate((hook["secret"], new), 1):
            asked(server, "POST", f"{path}/test", json={})
            until(lambda number=number: len(receiver.events) == number)
        assert "secret" not in asked(server, "GET", path)
        assert all("secret" not in one for one in asked(server, "GET", "")["webhooks"])


def test_a_secret_is_replaced_without_a_body(server: Served) -> None:
    hook = made(server, "https://8.8.8.8/")
    path = f"/v1/webhooks/{hook['webhook_id']}"
    json = {"Content-Type": "application/json"}
    answer = server.client.post(f"{path}/secret", headers={**MANAGE, **json})
    assert (answer.status_code, answer.json()["secret"] != hook["secret"]) == (200, True)
    asked(server, "DELETE", f"/{hook['webhook_id']}")


def test_a_tenants_webhooks_are_its_own(server: Served) -> None:
    hook = made(server, "https://8.8.8.8/")
    path = f"/v1/webhooks/{hook['webhook_id']}"
    for method, tail, body in (
        ("GET", "", None),
        ("PATCH", "", {"enabled": False}),
        ("DELETE", "", None),
        ("POST", "/secret", {}),
        ("POST", "/test", {}),
        ("GET", "/deliveries", None),
        ("POST", "/deliveries/dlv_0/resend", {}),
    ):
        assert server.client.request(method, path + tail, json=body, headers=OTHER).status_code == 404, (method, tail)
    assert hook["webhook_id"] not in str(asked(server, "GET", "", OTHER))
    assert hook["webhook_id"] in str(asked(server, "GET", "", OPERATOR))
    theirs = {"url": "https://8.8.8.8/", "tenant_id": "acme"}
    assert server.client.post("/v1/webhooks", json=theirs, headers=OTHER).status_code == 404
    assert asked(server, "POST", "", OPERATOR, json=theirs)["tenant_id"] == "acme"


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost.:22/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[64:ff9b::a00:1]/",
        "https://2130706433/",
        "http://127.1/",
        "ftp://8.8.8.8/",
        "",
    ],
)
def test_a_url_that_nothing_is_sent_to(server: Served, url: str) -> None:
    hook = made(server, "https://8.8.8.8/")
    for method, path in (("POST", "/v1/webhooks"), ("PATCH", f"/v1/webhooks/{hook['webhook_id']}")):
        response = server.client.request(method, path, json={"url": url}, headers=MANAGE)
        assert (response.status_code, response.json()["code"]) == (422, "invalid")
    asked(server, "DELETE", f"/{hook['webhook_id']}")


def test_what_is_no_webhook(server: Served) -> None:
    for wrong in ({}, {"url": "https://8.8.8.8/", "events": []}, {"url": "https://8.8.8.8/", "events": ["Job *"]}):
        assert server.client.post("/v1/webhooks", json=wrong, headers=MANAGE).status_code == 422


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("job.complete", "there is no event 'job.complete'; did you mean 'job.completed'?"),
        ("jobs.*", "there is no event 'jobs.*'; did you mean 'job.*'?"),
        ("cron.done", f"there is no event 'cron.done'; expected {', '.join(CRON_EVENTS)} or cron.*"),
        ("tool.execute.post", "there is no event 'tool.execute.post'; expected job.*, agent.*, cron.*, webhook.* or *"),
    ],
)
def test_an_event_that_there_is_not(server: Served, event: str, said: str) -> None:
    hook = made(server, "https://8.8.8.8/", events=["job.completed", "cron.*", "webhook.ping"])
    for method, path in (("POST", "/v1/webhooks"), ("PATCH", f"/v1/webhooks/{hook['webhook_id']}")):
        given = {"url": "https://8.8.8.8/", "events": ["job.failed", event]}
        response = server.client.request(method, path, json=given, headers=MANAGE)
        assert response.status_code == 422, response.text
        assert response.json()["errors"] == [{"place": "body.events.1", "message": said}]
    asked(server, "DELETE", f"/{hook['webhook_id']}")


def test_pages(server: Served) -> None:
    with receiving() as receiver:
        hook = made(server, receiver.url)
        path = f"/{hook['webhook_id']}"
        sent = [asked(server, "POST", f"{path}/test", json={})["delivery_id"] for _ in range(5)]
        found, cursor = list[str](), ""
        while True:
            page = asked(server, "GET", f"{path}/deliveries?limit=2{f'&cursor={cursor}' if cursor else ''}")
            found += [one["delivery_id"] for one in page["deliveries"]]
            cursor = page["next_cursor"]
            if not cursor:
                break
        assert found == sent[::-1]


def test_without_a_key_there_are_none(tmp_path: Any) -> None:
    with served(tmp_path) as server:
        response = server.client.get("/v1/webhooks")
        assert (response.status_code, response.json()["code"]) == (404, "not_found")


def test_metrics_tell_what_waits_and_what_came_of_attempts(server: Served) -> None:
    told = server.client.get("/metrics", headers=bearer(token("the operators", ["usage:read"]))).text
    attempts = (f'attempts_total{{result="{one}"}}' for one in ("delivered", "failed", "dead"))
    for name in (*attempts, 'pending{endpoint="enabled"}', 'pending{endpoint="disabled"}', "oldest_seconds"):
        assert f"\nspanhook_server_webhook_{name} " in told
