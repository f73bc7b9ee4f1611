import asyncio
import json
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from spanhook.server import LOCAL, KeyStore, audit
from spanhook.store import verify
from spanhook.store.control import Database, tables

pytestmark = pytest.mark.anyio


async def written(database: Database, file: Path) -> Path:
    lines = [f"{line}\n" async for line in audit.lines(database)]
    await asyncio.to_thread(file.write_text, "".join(lines))
    return file


async def test_every_change_is_a_record_of_one_chain(database: Database, tmp_path: Path) -> None:
    keys = KeyStore(database)
    text, key = await keys.create(LOCAL, "ci", "acme", ["hooks:read"])
    assert await keys.revoke(LOCAL, key.key_id)
    assert not await keys.revoke(LOCAL, key.key_id)
    file = await written(database, tmp_path / "audit.jsonl")
    (report,) = verify([file])
    assert (report.problem, report.first, report.last) == ("", 0, 2)
    found = [
        (one["action"], one["actor"], one["how"], one["subject"], one["tenant"])
        for one in await audit.changes(database)
    ]
    assert found == [
        ("key.create", "local", "local", key.key_id, "acme"),
        ("key.revoke", "local", "local", key.key_id, "acme"),
    ]
    assert text.split("_", 2)[2] not in file.read_text()


async def test_changed_and_removed_records_are_found(database: Database, tmp_path: Path) -> None:
    keys = KeyStore(database)
    for name in "abc":
        await keys.create(LOCAL, name, "acme", ["hooks:read"])
    async with database.reading() as connection:
        line = await connection.execute(select(tables.audit.c.entry).where(tables.audit.c.sequence == 2))
        entry = json.loads(line.scalar_one())
    async with database.writing() as connection:
        changed = json.dumps({**entry, "actor": "somebody"}, sort_keys=True, separators=(",", ":"))
        await connection.execute(update(tables.audit).where(tables.audit.c.sequence == 2).values(entry=changed))
    (report,) = verify([await written(database, tmp_path / "changed.jsonl")])
    assert report.line == 3
    assert "changed" in report.problem
    async with database.writing() as connection:
        await connection.execute(delete(tables.audit).where(tables.audit.c.sequence == 2))
    (report,) = verify([await written(database, tmp_path / "removed.jsonl")])
    assert "removed" in report.problem


async def test_a_change_that_fails_leaves_no_record(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        async with database.writing() as connection:
            await audit.record(connection, LOCAL, "hook.create", "x", "")
            raise ZeroDivisionError
    assert await audit.changes(database) == []
