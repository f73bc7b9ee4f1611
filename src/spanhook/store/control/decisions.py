"""Decisions of hooks, page by page.

As for runs, the index of the filter that lets the fewest through finds them, and the other filters are looked at on
each decision, in words that no index can be used for.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.store.control.database import Database
from spanhook.store.control.facts import short
from spanhook.store.control.paging import Page, page, paged
from spanhook.store.control.tables import decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDecision:
    """A decision; its fields are those of the log event ``spanhook.decision``.

    Attributes:
        id: Its number.
        mode: ``shadow`` if it was only noted, otherwise ``enforce``.
        elapsed_ns, time_ns: How long the hook took, and when it decided.
        trace_id, span_id: In hexadecimal.
    """

    id: int
    tenant_id: str
    run_id: str
    trace_id: str
    span_id: str
    hook: str
    event_type: str
    decision: str
    reason: str
    mode: str
    fail_mode: str
    coverage: str
    kind: str
    target: str
    agent: str
    user_id: str
    status_code: int
    elapsed_ns: int
    time_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """Which decisions to show; what is empty lets all through. Times are in nanoseconds since the epoch."""

    hook: str = ""
    decision: str = ""
    mode: str = ""
    event_type: str = ""
    run_id: str = ""
    agent: str = ""
    user_id: str = ""
    since_ns: int = 0
    until_ns: int = 0


_EQUAL = ("run_id", "user_id", "hook", "agent", "event_type", "decision", "mode")
_ENOUGH = 20_000
"""What lets more decisions through than that is not counted further."""
_SHOWN = tuple(name for name in StoredDecision.__dataclass_fields__ if name not in ("trace_id", "span_id"))


async def decisions_page(
    database: Database, tenant: str | None, given: DecisionFilter, *, cursor: str = "", limit: int = 50
) -> Page[StoredDecision]:
    """A page of decisions, the latest first.

    Args:
        database: Where they are.
        tenant: Whose may be seen; ``None`` for all.
        given: Which to show.
        cursor: What came with the page before.
        limit: How many, up to 1,000.

    Raises:
        CursorError: The cursor is none.
        StoreError: The database cannot be used now.
    """
    table = decisions.c
    wanted = {"tenant_id": tenant} if tenant is not None else {}
    wanted |= {name: short(getattr(given, name)) for name in _EQUAL if getattr(given, name)}
    async with database.reading() as connection:
        first = await _fewest(connection, wanted, given) if len(wanted) > 1 else next(iter(wanted), "")
        query = _within(select(decisions), given)
        for name, value in wanted.items():
            query = query.where((table[name] if name == first else table[name].concat("")) == value)
        rows = (await connection.execute(paged(query, table.time_ns, table.id, cursor, limit))).all()
    return page([_decision(row) for row in rows], [(row.time_ns, row.id) for row in rows], limit)


async def _fewest(connection: AsyncConnection, wanted: dict[str, str], given: DecisionFilter) -> str:
    """The column of those wanted by which the fewest are found."""
    counts: dict[str, int] = {}
    for name, value in wanted.items():
        some = _within(select(decisions.c.id).where(decisions.c[name] == value), given).limit(_ENOUGH).subquery()
        counts[name] = (await connection.execute(select(func.count()).select_from(some))).scalar_one()
    return min(counts, key=lambda name: counts[name])


def _within(query: Select[Any], given: DecisionFilter) -> Select[Any]:
    time_ns: ColumnElement[int] = decisions.c.time_ns
    if given.since_ns:
        query = query.where(time_ns >= given.since_ns)
    return query.where(time_ns < given.until_ns) if given.until_ns else query


def _decision(row: Any) -> StoredDecision:
    shown = {name: getattr(row, name) for name in _SHOWN}
    return StoredDecision(trace_id=row.trace_id.hex(), span_id=row.span_id.hex(), **shown)
