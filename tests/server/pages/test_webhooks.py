import re
from collections.abc import Generator
from typing import Any

import pytest

from tests.server.browsing import Browser
from tests.server.routes.test_webhooks import until
from tests.server.serving import SECRET, Served, served
from tests.webhooks.receiver import receiving

NEW = {"description": "for the CRM", "event.job.failed": "true", "others": "cron.*\n\n", "enabled": "true"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    webhooks = {"key_env": "SPANHOOK_TEST_SECRET", "allowed_networks": ["127.0.0.1/32"], "plain_http": True}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANHOOK_TEST_SECRET", SECRET)
        with served(tmp_path_factory.mktemp("webhooks"), api_keys=True, webhooks=webhooks) as one:
            yield one


def browser(server: Served, tenant: str = "acme") -> Browser:
    made = Browser(server)
    made.open("/login")
    key = server.key(tenant, "webhooks:manage")["Authorization"].removeprefix("Bearer ")
    made.send("/login", key=key, to="/webhooks")
    assert made.path == "/webhooks"
    return made


def secret_on(page: Browser) -> str:
    found = re.search(r"whsec_[A-Za-z0-9+/=]+", page.text)
    assert found
    return found[0]


def deliveries(server: Served, path: str, state: str) -> list[Any]:
    headers = server.key("acme", "webhooks:manage")
    return server.client.get(f"/v1{path}/deliveries?state={state}", headers=headers).json()["deliveries"]


def test_a_webhook_from_its_creation_to_its_end(server: Served) -> None:
    page = browser(server)
    assert "No webhooks yet" in page.text
    assert "job.completed" in page.open("/webhooks/new")
    with receiving((500, {"Retry-After": "600"})) as receiver:
        page.send("/webhooks", url=receiver.url, **NEW)
        assert (page.page.status_code, page.page.headers["cache-control"]) == (201, "no-store")
        receiver.secret = secret_on(page)
        shown = page.open("/webhooks")
        assert "job.failed , cron.* on" in shown, shown
        (path,) = set(re.findall(r'href="(/webhooks/wh_[0-9a-f]+)"', page.page.text))
        assert "Nothing was sent yet" in page.open(path)
        assert receiver.secret not in page.text
        page.send(f"{path}/test")
        assert page.path == path
        until(lambda: len(receiver.requests) == 1)
        until(lambda: deliveries(server, path, "pending")[0]["attempts"] == 1)
        shown = page.open(path)
        assert "webhook.ping waiting" in shown
        assert "the response has the status 500" in shown
        page.send(f"{path}/test")
        until(lambda: bool(deliveries(server, path, "delivered")))
        delivered = deliveries(server, path, "delivered")[0]
        assert "No delivery is dead" in page.open(path, state="dead")
        page.open(path, state="delivered")
        page.send(f"{path}/deliveries/{delivered['delivery_id']}/resend")
        until(lambda: [event["id"] for event in receiver.events].count(delivered["event_id"]) == 2)
        page.open(path)
        page.send(f"{path}/secret", keep_seconds="0")
        assert secret_on(page) != receiver.secret
        page.open(path)
        page.send(f"{path}/enabled", enabled="false")
        assert "Switch on" in page.text
        page.send(path, url=receiver.url, everything="true", ordered="true", description="<b>all</b>")
        assert "one after the other" in page.open("/webhooks")
        assert "&lt;b&gt;all&lt;/b&gt;" in page.page.text
        page.send(f"{path}/enabled", enabled="true", **{"from": "list"})
        assert page.path == "/webhooks"
        page.open(path)
        page.send(f"{path}/delete")
        assert "No webhooks yet" in page.text


def test_what_cannot_be_created_is_said_beside_what_was_written(server: Served) -> None:
    page = browser(server, "initech")
    page.open("/webhooks/new")
    for url, others, said in (
        ("http://10.0.0.1:8080/", "", "not public"),
        ("https://hooks.example/", "Not An Event", "events.1"),
        ("https://hooks.example/", "job.complete", "did you mean 'job.completed'?"),
        ("", "", "url"),
    ):
        shown = page.send("/webhooks", url=url, **{**NEW, "others": others})
        assert (page.page.status_code, said in shown) == (422, True), shown
        assert 'value="for the CRM"' in page.page.text
        assert 'name="event.job.failed" value="true" checked' in page.page.text
    nothing = page.send("/webhooks", url="https://hooks.example/")
    assert "events" in nothing
    page.open("/webhooks/new")
    page.send("/webhooks", url="https://hooks.example/", everything="true")
    assert page.page.status_code == 201
    page.open("/webhooks")
    (path,) = set(re.findall(r'href="(/webhooks/wh_[0-9a-f]+)"', page.page.text))
    page.open(path)
    assert "not public" in page.send(path, url="https://169.254.169.254/", everything="true")
    page.open(path)
    assert "keep_seconds" in page.send(f"{path}/secret", keep_seconds="7")
    assert "there is no delivery" in page.send(f"{path}/deliveries/dlv_0/resend")
    other = browser(server, "globex")
    assert "there is no webhook" in other.open(path)
    page.open(path)
    page.send(f"{path}/delete")


def test_forms_of_others_are_refused(server: Served) -> None:
    page = browser(server, "umbrella")
    page.open("/webhooks/new")
    page.send("/webhooks", url="https://hooks.example/", everything="true", csrf="0" * 64)
    assert page.page.status_code == 403
    assert "No webhooks yet" in page.open("/webhooks")


def test_without_a_key_the_page_says_what_to_set(tmp_path: Any) -> None:
    with served(tmp_path) as server:
        page = Browser(server)
        assert "key_env: WEBHOOK_KEY" in page.open("/webhooks")
        assert page.page.status_code == 200
        page.open("/webhooks/new")
        assert page.page.status_code == 404
