"""Stored definitions of ready-made hooks get their handler's own priority, and everybody is told which they are."""

import logging
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from spanhook.definitions import HookDefinition
from spanhook.server.audit import changes, lines
from spanhook.server.hook_store import HookStore
from spanhook.server.scopes import LOCAL
from spanhook.store import verify
from spanhook.store.control import Database, tables
from tests.store.control.migrations.older import fill

pytestmark = pytest.mark.anyio

POLICY, LIMIT = "spanhook.hooks.tool_policy:ToolPolicy", "spanhook.hooks.rate_limit:RateLimit"


def hook(number: int, handler: str, tenant: str = "", **fields: Any) -> dict[str, Any]:
    """A row of a definition. Without ``priority`` its column has 100, as the server has written it."""
    given = {"hook_id": f"hook_{number}", "name": f"name {number}", "event_type": "tool.execute.pre"}
    return {
        **given,
        "tenant_id": tenant,
        "priority": fields.get("priority", 100),
        "enabled": True,
        "version": 3,
        "created_ns": number,
        "definition": {**given, "tenant_id": tenant, "handler_ref": handler, **fields},
    }


ROWS = {
    "spanhook_hooks": [
        hook(1, POLICY, priority=100, fail_mode=None),
        hook(2, LIMIT, "acme", config={"limit": "1/minute"}),
        hook(3, POLICY, "acme", priority=90),
        hook(4, "acme.hooks:Refunds", "globex", priority=100),
        hook(5, POLICY, "initech", priority=100, fail_mode="open"),
    ],
    "spanhook_revisions": [{"tenant_id": "acme", "revision": 7, "changed_ns": 0}],
}


async def test_hundreds_of_ready_made_hooks_are_unset(url: str, caplog: pytest.LogCaptureFixture) -> None:
    fill(url, "0004", ROWS)
    database = await Database.open(url)
    stored, _ = await HookStore(database).page(LOCAL)
    found = {one.definition.hook_id: (one.definition.priority, one.definition.fail_mode, one.version) for one in stored}
    assert found == {
        "hook_1": (None, None, 4),
        "hook_2": (None, None, 4),
        "hook_3": (90, None, 3),
        "hook_4": (100, None, 3),
        "hook_5": (None, "open", 4),
    }
    assert stored[1].definition.config == {"limit": "1/minute"}
    [warning] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    for told in (
        "hook_1 ('name 1', tool_policy, all tenants)",
        "hook_2 ('name 2', rate_limit, tenant 'acme')",
        "hook_5",
    ):
        assert told in warning
    assert not [one for one in ("hook_3", "hook_4") if one in warning]
    async with database.reading() as connection:
        rows = await connection.execute(select(tables.revisions.c.tenant_id, tables.revisions.c.revision))
        assert {one.tenant_id: one.revision for one in rows} == {"": 1, "acme": 8, "initech": 1}
    await database.close()


async def test_the_audit_record_and_the_history_have_each_of_them(url: str, tmp_path: Path) -> None:
    fill(url, "0004", ROWS)
    database = await Database.open(url)
    recorded = [(one["action"], one["actor"], one["subject"], one["tenant"]) for one in await changes(database)]
    assert recorded == [
        ("hook.update", "migration 0005", "hook_1", ""),
        ("hook.update", "migration 0005", "hook_2", "acme"),
        ("hook.update", "migration 0005", "hook_5", "initech"),
    ]
    store = HookStore(database)
    [change], _ = await store.history(LOCAL, "hook_2")
    assert (change.actor, change.version, change.definition.priority) == ("migration 0005", 4, None)
    await store.create(LOCAL, HookDefinition(name="later", event_type="tool.execute.pre", handler_ref=POLICY))
    path = tmp_path / "audit.jsonl"
    path.write_text("".join([f"{line}\n" async for line in lines(database)]))
    [report] = verify([path])
    assert (report.last, report.problem) == (4, "")
    await database.close()


async def test_an_empty_database_has_nothing_to_tell(url: str, caplog: pytest.LogCaptureFixture) -> None:
    database = await Database.open(url)
    assert await changes(database) == []
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []
    await database.close()
