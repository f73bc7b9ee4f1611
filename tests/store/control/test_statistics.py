"""Statistics of hooks that are old are kept by day, and say the same."""

import pytest
from sqlalchemy import select

from spanhook.store.control import (
    Database,
    Execution,
    ExecutionEntry,
    Retention,
    RetentionLimits,
    hook_figures,
    record_executions,
    tables,
)

pytestmark = pytest.mark.anyio
HOUR_NS = 3_600 * 10**9


async def _record(database: Database, numbers: range) -> None:
    entries = [
        ExecutionEntry(
            log_id=str(number),
            tenant_id=f"t{number % 2}",
            event_type="e",
            time_ns=number * HOUR_NS,
            results=(Execution("h", "reject" if number % 5 == 0 else "allow", duration_ns=number * 1_000),),
        )
        for number in numbers
    ]
    await record_executions(database, entries)


async def _rows(database: Database) -> list[tuple[int, str, int]]:
    table = tables.hook_statistics.c
    async with database.reading() as connection:
        query = select(table.hour, table.tenant_id, table.executions).order_by(table.hour, table.tenant_id)
        return [tuple(row) for row in await connection.execute(query)]


async def test_days_are_summed_up_and_say_the_same(database: Database) -> None:
    retention = Retention(database, RetentionLimits(age_s=0, sums_age_s=0))
    await _record(database, range(24, 72))
    before = await hook_figures(database, None), await hook_figures(database, "t1")
    await retention.sweep()
    assert await _rows(database) == [(24, "t0", 12), (24, "t1", 12), (48, "t0", 12), (48, "t1", 12)]
    assert (await hook_figures(database, None), await hook_figures(database, "t1")) == before
    await _record(database, range(72, 73))
    await _record(database, range(30, 31))  # it is known already
    await _record(database, range(1000, 1001))
    await retention.sweep()
    assert [one[0] for one in await _rows(database)] == [24, 24, 48, 48, 72, 984]
    assert sum(one.executions for one in await hook_figures(database, None)) == 50


async def test_what_comes_late_is_added_to_its_day(database: Database) -> None:
    retention = Retention(database, RetentionLimits(age_s=0, sums_age_s=0))
    await _record(database, range(25, 26))
    await retention.sweep()
    await _record(database, range(27, 28))
    await retention.sweep()
    assert await _rows(database) == [(24, "t1", 2)]
    [figures] = await hook_figures(database, None)
    assert figures.executions == 2
