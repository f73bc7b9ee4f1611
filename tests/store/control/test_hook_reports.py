"""What processes report is counted once, however often it is sent."""

import pytest
from sqlalchemy import Connection

from spanhook.store.control import Database, ExecutionEntry, HookCount, executions_page, hook_figures, take_report

pytestmark = pytest.mark.anyio
EVENT = "tool.execute.pre"


async def taken(
    database: Database, before: dict[str, list[int]], *counts: HookCount, entries: tuple[ExecutionEntry, ...] = ()
) -> dict[str, list[int]]:
    def take(connection: Connection) -> dict[str, list[int]]:
        return take_report(connection, "acme", before, counts, entries)

    async with database.writing() as connection:
        return await connection.run_sync(take)


async def figures(database: Database) -> dict[str, tuple[int, int, int]]:
    found = await hook_figures(database, "acme")
    return {one.hook: (one.executions, one.failures, one.rejections) for one in found}


async def test_only_what_is_new_is_counted(database: Database) -> None:
    first = HookCount("guard", EVENT, 10, 1, 2, 10_000_000)
    known = await taken(database, {}, first)
    assert await taken(database, known, first) == known
    assert await figures(database) == {"guard": (10, 1, 2)}
    await taken(database, known, HookCount("guard", EVENT, 15, 1, 3, 15_000_000), HookCount("other", EVENT, 1))
    assert await figures(database) == {"guard": (15, 1, 3), "other": (1, 0, 0)}
    [one, _] = await hook_figures(database, None)
    assert one.p50_ms == pytest.approx(1.0, rel=0.1)
    assert not await hook_figures(database, "globex")


async def test_a_hook_that_was_replaced_counts_from_the_start(database: Database) -> None:
    known = await taken(database, {}, HookCount("guard", EVENT, 10))
    await taken(database, known, HookCount("guard", EVENT, 3))
    assert await figures(database) == {"guard": (13, 0, 0)}


async def test_percentiles_that_a_process_knows_are_kept(database: Database) -> None:
    await taken(database, {}, HookCount("guard", EVENT, 100, p50_ms=2.0, p95_ms=40.0))
    await taken(database, {}, HookCount("one", EVENT, 1, p50_ms=2.0, p95_ms=2.0))
    for found, p95_ms in zip(await hook_figures(database, None), (40.0, 2.0), strict=True):
        assert found.p50_ms == pytest.approx(2.0, rel=0.1)
        assert found.p95_ms == pytest.approx(p95_ms, rel=0.1)


async def test_entries_are_kept_and_not_counted(database: Database) -> None:
    entry = ExecutionEntry(log_id="1", tenant_id="acme", event_type=EVENT, time_ns=1)
    for _ in range(2):
        await taken(database, {}, entries=(entry,))
    assert [one.log_id for _, one in (await executions_page(database, "acme")).rows] == ["1"]
    assert not await hook_figures(database, None)


async def test_sums_stop_before_they_overflow(database: Database) -> None:
    for _ in range(3):
        await taken(database, {}, HookCount("guard\0", EVENT, 2**62, 2**62, 2**62, 2**62))
    assert (await figures(database))["guard\ufffd"] == (2**63 - 1,) * 3
