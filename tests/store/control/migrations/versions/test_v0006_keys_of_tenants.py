"""Keys of tenants lose what is the operator's, and everybody is told which they are."""

import logging
from typing import Any

import pytest

from spanhook.server import SCOPES, KeyStore
from spanhook.server.audit import changes
from spanhook.store.control import Database
from tests.store.control.migrations.older import fill

pytestmark = pytest.mark.anyio


def key(number: int, tenant: str, *scopes: str) -> dict[str, Any]:
    given = {"key_id": f"key_{number}", "hash": str(number), "name": f"name {number}", "created_ns": number}
    return {**given, "tenant_id": tenant, "scopes": list(scopes)}


KEYS = [
    key(1, "acme", "hooks:admin"),
    key(2, "globex", "hooks:admin", "runs:read", "hooks:manage"),
    key(3, "", "hooks:admin", "runs:read"),
    key(4, "acme", "hooks:manage"),
]
OF_TENANTS = {"hooks:manage", "hooks:read", "policies:manage"}


async def test_admins_with_a_tenant_have_the_scopes_of_tenants(url: str, caplog: pytest.LogCaptureFixture) -> None:
    fill(url, "0004", {"spanhook_api_keys": KEYS})
    for _ in range(2):  # once only
        database = await Database.open(url)
        found = {one.key_id: one.scopes for one in await KeyStore(database).all()}
        recorded = [
            (one["action"], one["actor"], one["subject"], one["tenant"], one["scopes_before"], one["scopes"])
            for one in await changes(database)
        ]
        await database.close()
        assert found == {
            "key_1": OF_TENANTS,
            "key_2": OF_TENANTS | {"runs:read"},
            "key_3": OF_TENANTS | {"hooks:admin", "runs:read"},
            "key_4": {"hooks:manage", "hooks:read"},
        }
        assert recorded == [
            ("key.update", "migration 0006", "key_1", "acme", ["hooks:admin"], ["hooks:manage", "policies:manage"]),
            (
                *("key.update", "migration 0006", "key_2", "globex"),
                ["hooks:admin", "hooks:manage", "runs:read"],
                ["hooks:manage", "policies:manage", "runs:read"],
            ),
        ]
    [warning] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert "key_1 ('name 1', tenant 'acme'), key_2 ('name 2', tenant 'globex')" in warning
    assert set(SCOPES) >= OF_TENANTS


def put(version: int, tenant: str, actor: str, content: str) -> dict[str, Any]:
    return {"version": version, "tenant_id": tenant, "actor": actor, "content": content}


def change(number: int, hook: str, tenant: str, action: str, actor: str) -> dict[str, Any]:
    given = {"id": number, "hook_id": hook, "tenant_id": tenant, "action": action, "actor": actor}
    return {**given, "definition": {}}


async def test_what_they_have_done_to_all_tenants_is_told(url: str, caplog: pytest.LogCaptureFixture) -> None:
    rows = {
        "spanhook_api_keys": KEYS,
        "spanhook_policies": [
            put(1, "", "key_1", "mode: 'off'"),
            put(2, "globex", "key_2", "policies: []\nsettings: {hooks_enabled: false}"),
            put(3, "acme", "key_1", "policies: []"),
            put(4, "initech", "key_3", "mode: shadow"),
        ],
        "spanhook_hook_history": [
            change(1, "ours", "", "create", "key_3"),
            change(2, "ours", "", "delete", "key_1"),
            change(3, "repaired", "", "disable", "key_1"),
            change(4, "repaired", "", "enable", "key_3"),
            change(5, "own", "acme", "create", "key_1"),
        ],
    }
    fill(url, "0004", rows)
    database = await Database.open(url)
    await database.close()
    warning = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING][-1]
    assert warning.partition("wanted: ")[2] == (
        "the policy of all tenants, version 1 (by tenant 'acme'), settings in the policy of tenant 'globex', version 2"
        ", hook ours for all tenants (delete, by tenant 'acme')"
    )
