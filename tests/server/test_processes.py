from typing import Any

import pytest
from sqlalchemy import update

from spanhook.server import LOCAL, Principal
from spanhook.server import processes as known
from spanhook.server.processes import KEPT_NS, Processes
from spanhook.server.scopes import scopes_of
from spanhook.store.control import Database, tables

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def principal(tenant: str) -> Principal:
    return Principal("ada", tenant, False, scopes_of(["hooks:sync", "hooks:read"], operator=False), "key")


def facts(**given: Any) -> dict[str, Any]:
    every = {"service": "agent", "host": "box", "pid": 7, "version": "0.1.0", "revision": 3, "digest": "d"}
    return {**every, "hooks": [], "problems": [], **given}


async def seen(processes: Processes, tenant: str) -> list[tuple[str, int]]:
    rows, _ = await processes.page(principal(tenant) if tenant else LOCAL)
    return [(row["tenant_id"], row["revision"]) for row in rows]


async def test_a_process_that_reports_again_is_the_same(database: Database) -> None:
    processes = Processes(database)
    for revision in (3, 4):
        await processes.note(principal("acme"), "one", facts(revision=revision))
    assert await seen(processes, "acme") == [("acme", 4)]


async def test_processes_of_two_tenants_with_the_same_id_are_two(database: Database) -> None:
    processes = Processes(database)
    for revision, tenant in enumerate(("acme", "globex")):
        await processes.note(principal(tenant), "one", facts(revision=revision))
    assert await seen(processes, "acme") == [("acme", 0)]
    assert await seen(processes, "globex") == [("globex", 1)]
    assert await seen(processes, "") == [("globex", 1), ("acme", 0)]


async def test_a_process_that_is_not_heard_of_for_a_day_is_forgotten(database: Database) -> None:
    processes = Processes(database)
    await processes.note(LOCAL, "old", facts(revision=1))
    earlier = tables.processes.c.last_seen_ns - KEPT_NS - 1
    async with database.writing() as connection:
        await connection.execute(update(tables.processes).values(last_seen_ns=earlier))
    await processes.note(LOCAL, "new", facts(revision=2))
    assert await seen(processes, "") == [("", 2)]


async def test_a_tenant_has_so_many_processes_and_no_more(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process calls itself is its own affair, so reports alone could fill the database."""
    monkeypatch.setattr(known, "MOST", 3)
    processes = Processes(database)
    await processes.note(principal("globex"), "one", facts(revision=0))
    for number in range(5):
        await processes.note(principal("acme"), str(number), facts(revision=number))
    assert await seen(processes, "acme") == [("acme", 4), ("acme", 3), ("acme", 2)]
    assert await seen(processes, "globex") == [("globex", 0)]
