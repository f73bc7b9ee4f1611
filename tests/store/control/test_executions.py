"""The execution log, and statistics that are right within a tenth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanhook.store.control import (
    Database,
    Execution,
    ExecutionEntry,
    executions_page,
    find_execution,
    hook_figures,
    record_executions,
)
from spanhook.store.control.executions import HOUR_NS, bucket
from tests.store.control.plans import asked_of, plan_of

pytestmark = pytest.mark.anyio
EVENT = "tool.execute.pre"


def entry(number: int, *results: Execution, tenant: str = "acme", hour: int = 100) -> ExecutionEntry:
    return ExecutionEntry(
        log_id=f"log-{number}",
        tenant_id=tenant,
        event_type=EVENT,
        name="refund\0",
        request_id="r",
        aborted=number == 1,
        abort_reason="no" * (number == 1),
        duration_ns=5,
        time_ns=hour * HOUR_NS + number,
        results=results,
    )


async def test_entries_are_kept_and_counted_once(database: Database) -> None:
    entries = [
        entry(1, Execution("guard", "reject", error="no", data={"status_code": 402}), Execution("other", "skipped")),
        entry(2, Execution("guard", "error", success=False, duration_ns=2_000_000)),
        entry(3, Execution("guard", duration_ns=1_000_000), tenant="globex"),
    ]
    assert await record_executions(database, entries) == 3
    assert await record_executions(database, [*entries, *entries]) == 0
    assert await record_executions(database, []) == 0
    [figures] = await hook_figures(database, None)
    assert (figures.hook, figures.event_type) == ("guard", EVENT)
    assert (figures.executions, figures.failures, figures.rejections) == (3, 1, 1)
    assert figures.p50_ms == pytest.approx(1.0, rel=0.1)
    assert figures.p95_ms == pytest.approx(2.0, rel=0.1)
    [mine] = await hook_figures(database, "globex")
    assert mine.executions == 1
    assert not await hook_figures(database, None, since_ns=101 * HOUR_NS)
    found = await find_execution(database, "acme", "log-1")
    assert found is not None
    assert (found.results, found.aborted, found.name) == (entries[0].results, True, "refund\ufffd")
    assert await find_execution(database, "globex", "log-1") is None


async def test_pages(database: Database) -> None:
    await record_executions(database, [entry(number) for number in range(5)])
    first = await executions_page(database, "acme", event_type=EVENT, limit=3)
    second = await executions_page(database, "acme", event_type=EVENT, limit=3, cursor=first.cursor)
    assert len({one.log_id for _, one in (*first.rows, *second.rows)}) == 5
    assert not second.cursor
    assert not (await executions_page(database, "globex")).rows
    assert not (await executions_page(database, None, event_type="x")).rows


@given(st.integers(0, 2**62), st.integers(0, 2**62))
def test_longer_durations_are_in_no_earlier_bucket(one: int, other: int) -> None:
    assert (bucket(min(one, other))) <= bucket(max(one, other))


@pytest.mark.parametrize("tenant", [None, "tenant-1"])
@pytest.mark.parametrize("event_type", ["", EVENT])
async def test_each_filter_is_found_by_an_index(database: Database, tenant: str | None, event_type: str) -> None:
    entries = [
        ExecutionEntry(
            log_id=f"{number}",
            tenant_id=f"tenant-{number % 3}",
            event_type=EVENT if number % 2 else "llm.call.pre",
            time_ns=number,
        )
        for number in range(60)
    ]
    await record_executions(database, entries)
    with asked_of(database) as asked:
        found = await executions_page(database, tenant, event_type=event_type, limit=100)
    assert {(one.tenant_id, one.event_type) for _, one in found.rows} == {
        (one.tenant_id, one.event_type)
        for one in entries
        if tenant in (None, one.tenant_id) and event_type in ("", one.event_type)
    }
    lines = await plan_of(database, asked)
    assert not [line for line in lines if "Seq Scan on" in line or "TEMP B-TREE" in line]
    assert (tenant is None and not event_type) or not [line for line in lines if line.startswith("SCAN")]
