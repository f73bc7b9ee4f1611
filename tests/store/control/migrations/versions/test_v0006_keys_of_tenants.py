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
