"""Every filter of decisions is found by an index, alone and with others; no query reads all decisions."""

from itertools import combinations
from typing import Any

import pytest
from sqlalchemy import insert

from spanhook.store.control import Database, DecisionFilter, decisions_page, tables
from tests.store.control.plans import asked_of, plan_of

pytestmark = pytest.mark.anyio
DECISIONS = 300
ONE: dict[str, Any] = {
    "hook": "hook-1",
    "decision": "reject",
    "mode": "shadow",
    "event_type": "tool.execute.pre",
    "run_id": "run-7",
    "agent": "agent-4",
    "user_id": "user-7",
    "since_ns": 100,
    "until_ns": 200,
}
FILTERS = [
    DecisionFilter(),
    DecisionFilter(hook="no such hook", decision="reject"),
    DecisionFilter(**ONE),
    *(DecisionFilter(**{name: wanted}) for name, wanted in ONE.items()),
    *(DecisionFilter(**dict(pair)) for pair in combinations(ONE.items(), 2)),
]


def _row(number: int) -> dict[str, Any]:
    return {
        **dict.fromkeys(("owner", "reason", "fail_mode", "coverage", "kind", "target"), ""),
        **dict.fromkeys(("status_code", "elapsed_ns", "received_ns"), 0),
        "id": number,
        "key": number.to_bytes(16, "big"),
        "tenant_id": f"tenant-{number % 20}",
        "run_id": f"run-{number % 100}",
        "trace_id": number.to_bytes(16, "big"),
        "span_id": number.to_bytes(8, "big"),
        "hook": f"hook-{number % 3}",
        "event_type": "tool.execute.pre" if number % 2 else "llm.call.pre",
        "decision": "modify" if number % 7 else "reject",
        "mode": "enforce" if number % 5 else "shadow",
        "agent": f"agent-{number % 10}",
        "user_id": f"user-{number % 50}",
        "time_ns": number,
    }


ROWS = [_row(number) for number in range(1, DECISIONS + 1)]


@pytest.fixture
async def filled(database: Database) -> Database:
    async with database.writing() as connection:
        await connection.execute(insert(tables.decisions), ROWS)
    return database


def _matches(row: dict[str, Any], given: DecisionFilter) -> bool:
    within = given.since_ns <= row["time_ns"] < (given.until_ns or DECISIONS + 1)
    return within and all(getattr(given, name) in ("", row[name]) for name in ONE if not name.endswith("_ns"))


@pytest.mark.parametrize("tenant", [None, "tenant-7"])
async def test_each_filter_is_found_by_an_index(filled: Database, tenant: str | None) -> None:
    for given in FILTERS:
        with asked_of(filled) as asked:
            found = await decisions_page(filled, tenant, given, limit=1000)
        expected = [row["id"] for row in reversed(ROWS) if _matches(row, given) and tenant in (None, row["tenant_id"])]
        assert [one.id for one in found.rows] == expected, given
        for line in await plan_of(filled, asked):
            assert "Seq Scan on spanhook" not in line, (given, line)
            by_time = given == DecisionFilter() and tenant is None and "ix_spanhook_decisions_time_ns_id" in line
            assert "SCAN spanhook_" not in line or by_time, (given, line)


async def test_pages_follow_each_other(filled: Database) -> None:
    given, cursor, found = DecisionFilter(agent="agent-4", mode="enforce"), "", list[int]()
    for _ in range(5):
        page = await decisions_page(filled, None, given, cursor=cursor, limit=7)
        found += [one.id for one in page.rows]
        cursor = page.cursor
    assert not cursor
    assert found == [row["id"] for row in reversed(ROWS) if _matches(row, given)]
