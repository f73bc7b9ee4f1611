import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select

from spanhook.definitions import HookDefinition
from spanhook.server import LOCAL, audit
from spanhook.server.hook_store import HookStore
from spanhook.server.problems import Problem
from spanhook.store import verify
from spanhook.store.control import Database, tables
from tests.store.control.plans import asked_of, plan_of

pytestmark = pytest.mark.anyio


def hook(name: str, tenant: str = "acme", **fields: object) -> HookDefinition:
    given = {"name": name, "event_type": "tool.execute.pre", "handler_ref": "a:B", "tenant_id": tenant, **fields}
    return HookDefinition.model_validate(given)


async def revisions(database: Database) -> dict[str, int]:
    async with database.reading() as connection:
        rows = await connection.execute(select(tables.revisions.c.tenant_id, tables.revisions.c.revision))
        return {row.tenant_id: row.revision for row in rows.all()}


async def test_a_definition_comes_back_as_it_was_given(database: Database) -> None:
    store = HookStore(database)
    for given in (hook("x"), hook("y", timeout_ms=200.0, config={"a": [1, "é\0"]}, tags=("t",), fail_mode="closed")):
        await store.create(LOCAL, given)
        found = await store.get(LOCAL, given.hook_id)
        assert found.definition == given
        assert ("timeout_ms" in found.definition.model_fields_set) == (given.name == "y")


async def test_every_change_of_a_tenants_hooks_is_a_revision_of_that_tenant(database: Database) -> None:
    store = HookStore(database)
    one = await store.create(LOCAL, hook("x"))
    await store.create(LOCAL, hook("y", ""))
    await store.enable(LOCAL, one.definition.hook_id, enabled=False)
    await store.enable(LOCAL, one.definition.hook_id, enabled=False)
    await store.delete(LOCAL, one.definition.hook_id)
    assert await revisions(database) == {"acme": 3, "": 1}


async def test_one_of_two_changes_of_the_same_version_is_refused(database: Database) -> None:
    store = HookStore(database)
    before = await store.create(LOCAL, hook("x"))
    first = await store.replace(LOCAL, before, before.definition.changed(priority=1))
    with pytest.raises(Problem) as refusal:
        await store.replace(LOCAL, before, before.definition.changed(priority=2))
    assert refusal.value.code == "conflict"
    assert await store.get(LOCAL, before.definition.hook_id) == first
    assert len((await store.history(LOCAL, before.definition.hook_id))[0]) == 2
    assert (await revisions(database))["acme"] == 2


async def test_changes_at_the_same_time_are_all_made_or_refused(database: Database, tmp_path: Path) -> None:
    store = HookStore(database)
    outcomes = await asyncio.gather(*(store.create(LOCAL, hook(str(one))) for one in range(32)), return_exceptions=True)
    refused = [one for one in outcomes if isinstance(one, Problem)]
    assert [one.code for one in refused] == ["too_many_hooks"] * 12
    assert len((await store.page(LOCAL, limit=100))[0]) == 20
    one = (await store.page(LOCAL, limit=1))[0][0].definition.hook_id
    for number in range(16):
        await asyncio.gather(*(store.enable(LOCAL, one, enabled=number % 2 == 1) for _ in range(4)))
    found = await store.get(LOCAL, one)
    assert (found.version, found.definition.enabled) == (17, True)
    assert [change.version for change in (await store.history(LOCAL, one))[0]] == list(range(17, 0, -1))
    assert (await revisions(database))["acme"] >= 36
    lines = [f"{line}\n" async for line in audit.lines(database)]
    file = tmp_path / "audit.jsonl"
    await asyncio.to_thread(file.write_text, "".join(lines))
    assert [(one.problem, one.last) for one in verify([file])] == [("", 36)]


async def test_a_deleted_definition_has_one_entry_for_each_version(database: Database) -> None:
    store = HookStore(database)
    for number in range(5):
        one = (await store.create(LOCAL, hook(str(number)))).definition.hook_id
        await asyncio.gather(
            *(store.enable(LOCAL, one, enabled=on) for on in (False, True) * 3),
            store.delete(LOCAL, one),
            return_exceptions=True,
        )
        versions = [change.version for change in (await store.history(LOCAL, one))[0]]
        assert versions == list(range(len(versions), 0, -1))


async def test_the_definitions_of_a_tenant_have_a_size_together(database: Database) -> None:
    store = HookStore(database)
    large = {"words": ["é" * 100_000]}
    for number in range(3):
        await store.create(LOCAL, hook(str(number), config=large))
    before = await store.create(LOCAL, hook("small"))
    for config in (large, {"a": "a" * 400_000}):
        with pytest.raises(Problem) as refusal:
            await store.replace(LOCAL, before, before.definition.changed(config=config))
        assert refusal.value.code == "too_many_hooks"
    with pytest.raises(Problem):
        await store.create(LOCAL, hook("large", config=large))
    await store.create(LOCAL, hook("other", "globex", config=large))
    assert [one.definition.name for one in (await store.page(LOCAL))[0]] == ["0", "1", "2", "small", "other"]
    assert await store.get(LOCAL, before.definition.hook_id) == before


async def test_each_filter_is_found_by_an_index(database: Database) -> None:
    store = HookStore(database)
    for number in range(6):
        await store.create(LOCAL, hook(f"h{number}", f"tenant-{number % 2}", event_type="llm.call.pre"))
    for event, tenant in (("llm.call.pre", None), (None, "tenant-1"), ("llm.call.pre", "tenant-1")):
        with asked_of(database) as asked:
            found, _ = await store.page(LOCAL, event=event, tenant=tenant)
        assert len(found) == (3 if tenant else 6)
        assert not [line for line in await plan_of(database, asked) if "SCAN" in line or "Seq Scan on" in line]
