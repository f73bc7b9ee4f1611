import re
from collections.abc import Generator
from typing import Any

import pytest

from spanhook.server.masking import MASK
from tests.server.browsing import Browser
from tests.server.serving import Served, served

POLICY = "spanhook.hooks.tool_policy:ToolPolicy"
NEW = {
    "handler_ref": POLICY,
    "name": "refunds",
    "event_type": "tool.execute.pre",
    "priority": "60",
    "timeout_ms": "200",
}
SYSTEM = {
    "name": "of all",
    "event_type": "tool.execute.pre",
    "handler_ref": POLICY,
    "tenant_id": "",
    "config": {"default": "deny"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    handlers = ["spanhook.hooks", POLICY, "spanhook.hooks.remote_policy._hook:RemotePolicy", "nothing.there:It"]
    with served(tmp_path_factory.mktemp("hooks"), api_keys=True, handlers=handlers) as one:
        yield one


def browser(server: Served, *scopes: str, tenant: str = "acme") -> Browser:
    key = server.key(tenant, *scopes)["Authorization"].removeprefix("Bearer ")
    made = Browser(server)
    made.open("/login")
    made.send("/login", key=key, to="/hooks")
    return made


@pytest.fixture
def manager(server: Served) -> Browser:
    return browser(server, "hooks:manage")


def stored(server: Served, at: Browser, tenant: str = "acme") -> Any:
    return server.client.get(f"/v1{at.path}", headers=server.key(tenant, "hooks:read")).json()


def test_a_hook_is_created_changed_and_deleted(server: Served, manager: Browser) -> None:
    assert "ToolPolicy" in manager.open("/hooks/new")
    manager.open("/hooks/new", handler=POLICY)
    assert 'name="config.rules"' in manager.page.text
    rules = '[{"deny": ["refund"], "reason": "Refunds need a person"}]'
    manager.send("/hooks", **NEW, enabled="true", **{"config.default": "allow", "config.rules": rules})
    made = stored(server, manager)
    assert (made["name"], made["priority"], made["tenant_id"], made["enabled"]) == ("refunds", 60, "acme", True)
    assert made["config"]["rules"][0]["deny"] == ["refund"]
    path = manager.path
    changed = {
        **NEW,
        "name": "no refunds",
        "version": "1",
        "tags": "money\n\nslow",
        "config.default": "deny",
        "config.rules": rules,
    }
    assert "Version 2: update by" in manager.send(path, **changed)
    made = stored(server, manager)
    assert (made["name"], made["enabled"], made["tags"]) == ("no refunds", False, ["money", "slow"])
    assert "changed meanwhile" in manager.send(path, **changed)
    assert manager.page.status_code == 409
    manager.open(path)
    manager.send(f"{path}/delete")
    assert manager.path == "/hooks"
    assert "there is no hook" in manager.open(path)


def test_a_hook_is_switched_and_set_to_shadow(server: Served, manager: Browser) -> None:
    manager.open("/hooks/new", handler=POLICY)
    manager.send("/hooks", **NEW, enabled="true", **{"config.default": "deny"})
    path = manager.path
    for wrong in ({}, {"enabled": "off"}):  # says nothing, and so changes nothing
        manager.send(f"{path}/enabled", **wrong)
        assert manager.page.status_code == 422
        manager.open(path)
    for _ in range(2):  # sent twice, it is still off
        manager.send(f"{path}/enabled", enabled="false")
    manager.send(f"{path}/mode", mode="shadow")
    assert (stored(server, manager)["enabled"], stored(server, manager)["mode"]) == (False, "shadow")
    assert [one.removesuffix(" by") for one in re.findall(r"Version \d: \w+ by", manager.text)] == [
        "Version 3: update", "Version 2: disable", "Version 1: create"
    ]  # fmt: skip
    manager.send(f"{path}/enabled", enabled="true", **{"from": "list"})
    assert manager.path == "/hooks"
    assert 'aria-checked="true"' in manager.page.text


def test_mistakes_are_told_beside_what_was_sent(manager: Browser) -> None:
    manager.open("/hooks/new", handler=POLICY)
    for wrong, told in (
        ({"priority": "high"}, "priority"),
        ({"event_type": "tool.exec"}, "there is no event"),
        ({"config.rules": "{"}, "Rules: expected JSON"),
        ({"config.rules": '[{"allow": ["a"], "deny": ["b"]}]'}, "rules"),
        ({"timeout_ms": "99999"}, "timeout_ms"),
    ):
        assert told in manager.send("/hooks", **{**NEW, "name": "<b>mine</b>", **wrong})
        assert manager.page.status_code == 422
        assert 'value="&lt;b&gt;mine&lt;/b&gt;"' in manager.page.text


def test_handlers_that_are_not_allowed_are_not_offered(server: Served, manager: Browser) -> None:
    assert "RemotePolicy" not in manager.open("/hooks/new")
    assert "RemotePolicy" in browser(server, "hooks:admin", tenant="").open("/hooks/new")
    assert "is not allowed" in manager.open("/hooks/new", handler="os:system")
    assert manager.page.status_code == 422


def test_secrets_are_masked_and_kept(server: Served) -> None:
    admin = browser(server, "hooks:admin", tenant="")
    headers = {"Authorization": "Bearer s3cret"}
    given = {
        "name": "remote",
        "event_type": "tool.execute.pre",
        "handler_ref": "spanhook.hooks.remote_policy._hook:RemotePolicy",
        "config": {"url": "https://policy.example/v1", "service": "http", "headers": headers},
    }
    made = server.client.post("/v1/hooks", json=given, headers=server.key("", "hooks:admin"))
    assert made.status_code == 201, made.text
    admin.open(f"/hooks/{made.json()['hook_id']}")
    assert MASK in admin.page.text
    assert "s3cret" not in admin.page.text


def test_tenants_know_of_hooks_for_all_and_change_their_own_alone(server: Served, manager: Browser) -> None:
    made = server.client.post("/v1/hooks", json=SYSTEM, headers=server.key("", "hooks:admin")).json()
    theirs = server.client.post(
        "/v1/hooks", json={**SYSTEM, "tenant_id": "globex", "name": "theirs"}, headers=server.key("", "hooks:admin")
    ).json()
    listed = manager.open("/hooks")
    assert "of all for all tenants" in listed
    assert "theirs" not in listed
    assert made["hook_id"] not in manager.page.text
    assert "hooks:admin" in manager.open(f"/hooks/{made['hook_id']}")
    for hook_id, status in ((made["hook_id"], 403), (theirs["hook_id"], 404)):
        for path in ("", "/enabled", "/mode", "/delete"):
            manager.open("/hooks/new", handler=POLICY)
            manager.send(f"/hooks/{hook_id}{path}", **NEW)
            assert manager.page.status_code == status


def test_readers_have_nothing_to_press(server: Served, manager: Browser) -> None:
    manager.open("/hooks/new", handler=POLICY)
    manager.send("/hooks", **NEW, **{"config.default": "deny"})
    reader = browser(server, "hooks:read")
    reader.open("/hooks")
    assert not re.search(r"<button[^>]*(role=\"switch\"|name=\"mode\")", reader.page.text)
    assert "/hooks/new" not in reader.page.text
    reader.open(manager.path)
    assert "<fieldset disabled>" in reader.page.text
    assert ">Save<" not in reader.page.text
