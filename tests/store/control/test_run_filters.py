"""Every filter of runs is found by an index, alone and with others; no query reads all runs or all spans."""

from itertools import combinations
from typing import Any

import pytest
from sqlalchemy import insert

from spanhook.store.control import Database, RunFilter, runs_page, tables
from tests.store.control.plans import asked_of, plan_of

pytestmark = pytest.mark.anyio
RUNS = 300
ONE: dict[str, Any] = {
    "status": "error",
    "agent": "agent-4",
    "tenant_id": "tenant-3",
    "user_id": "user-7",
    "session_id": "session-7",
    "model": "model-1",
    "hook": "hook-1",
    "since_ns": 100,
    "until_ns": 200,
    "search": "agent-4",
}
FILTERS = [
    RunFilter(status="running"),
    RunFilter(search="a" * 32),
    RunFilter(search="no such thing"),
    *(RunFilter(**{name: wanted}) for name, wanted in ONE.items()),
    *(RunFilter(**dict(pair)) for pair in combinations(ONE.items(), 2)),
    RunFilter(status="running", agent="agent-4", hook="hook-1"),
]
LIVE = "ix_spanhook_runs_running"  # it has those alone that have not ended


@pytest.fixture
async def filled(database: Database) -> Database:
    rows: list[dict[str, Any]] = [
        {
            **dict.fromkeys(("owner", "service", "kind", "error_type"), ""),
            **dict.fromkeys(("spans", "decisions", "updated_ns"), 0),
            "id": number,
            "run_id": f"run-{number}",
            "trace_id": number.to_bytes(16, "big"),
            "root_id": b"12345678",
            "root_parent_id": b"",
            "tenant_id": f"tenant-{number % 20}",
            "user_id": f"user-{number % 50}",
            "session_id": f"session-{number % 100}",
            "agent": f"agent-{number % 10}",
            "name": f"invoke_agent agent-{number % 10}",
            "status": "success" if number % 7 else "error",
            "ended": True,
            "start_ns": number,
            "end_ns": number + 1,
            "by_model": {},
        }
        for number in range(1, RUNS + 1)
    ]
    models = [{"model": f"model-{one['id'] % 3}", "start_ns": one["id"], "run": one["id"]} for one in rows]
    hooks = [{"hook": f"hook-{one['id'] % 4}", "start_ns": one["id"], "run": one["id"]} for one in rows[::5]]
    async with database.writing() as connection:
        await connection.execute(insert(tables.runs), rows)
        await connection.execute(insert(tables.run_models), models)
        await connection.execute(insert(tables.run_hooks), hooks)
    return database


def _matches(number: int, given: RunFilter) -> bool:
    told = {
        "status": "success" if number % 7 else "error",
        "agent": f"agent-{number % 10}",
        "tenant_id": f"tenant-{number % 20}",
        "user_id": f"user-{number % 50}",
        "session_id": f"session-{number % 100}",
        "model": f"model-{number % 3}",
        "hook": f"hook-{number % 4}" if number % 5 == 1 else "",
    }
    searched = given.search in f"{told['agent']} invoke_agent {told['agent']}"
    within = given.since_ns <= number < (given.until_ns or RUNS + 1)
    return searched and within and all(getattr(given, name) in ("", value) for name, value in told.items())


async def test_each_filter_is_found_by_an_index(filled: Database) -> None:
    for given in FILTERS:
        with asked_of(filled) as asked:
            found = await runs_page(filled, None, given, limit=1000)
        expected = [f"run-{number}" for number in range(RUNS, 0, -1) if _matches(number, given)]
        assert [one.id for one in found.rows] == expected, given
        for line in await plan_of(filled, asked):
            assert "Seq Scan on spanhook" not in line, (given, line)
            assert "SCAN spanhook_" not in line or LIVE in line, (given, line)


@pytest.mark.parametrize(
    "given", [RunFilter(), RunFilter(agent="agent-4"), RunFilter(search="agent-4", status="error")]
)
async def test_a_tenants_page_too(filled: Database, given: RunFilter) -> None:
    with asked_of(filled) as asked:
        found = await runs_page(filled, "tenant-4", given, limit=1000)
    assert found.rows
    assert {one.tenant_id for one in found.rows} == {"tenant-4"}
    assert not [line for line in await plan_of(filled, asked) if "SCAN spanhook_" in line or "Seq Scan on" in line]


async def test_pages_of_a_search_follow_each_other(filled: Database) -> None:
    given, cursor, found = RunFilter(search="INVOKE_agent agent-4", since_ns=50), "", list[str]()
    for _ in range(4):
        page = await runs_page(filled, None, given, cursor=cursor, limit=7)
        found += [one.id for one in page.rows]
        cursor = page.cursor
    assert not cursor
    assert found == [f"run-{number}" for number in range(RUNS, 49, -1) if number % 10 == 4]


@pytest.mark.parametrize("most", ["_MOST_MATCHES", "_MOST_VALUES", "ENOUGH"])
async def test_a_search_that_many_match_walks_through_the_latest(
    filled: Database, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    monkeypatch.setattr(f"spanhook.store.control.run_search.{most}", 3)
    for search, expected in (("AGENT-4", 30), ("session-7", 33), ("nothing", 0), ("model-1", 100)):
        found = await runs_page(filled, None, RunFilter(search=search), limit=1000)
        assert len(found.rows) == expected, search
