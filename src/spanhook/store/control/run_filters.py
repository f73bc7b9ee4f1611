"""Which runs to show, and how they are found: by the index of the filter that lets the fewest through.

Each filter has an index in the order of pages. The other filters are looked at on each run, in words that no index can
be used for: a database that has no statistics would choose any of them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.store.control.columns import MOST
from spanhook.store.control.facts import short
from spanhook.store.control.paging import after, bounds, paged
from spanhook.store.control.run_search import Search, Window, found_by, search_for
from spanhook.store.control.tables import run_hooks, run_models, runs

LIVE_NS = 60 * 1_000_000_000
"""A run of which nothing was heard for so long is not running any more."""
ENOUGH = 20_000
"""What lets more runs through than that is not counted further."""
_AT_ONCE = 500
_EQUAL = ("user_id", "session_id", "agent", "tenant_id", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs to show; what is empty lets all through.

    Attributes:
        status: How they ended, or ``running``.
        agent, tenant_id, user_id, session_id: Whose they are.
        model: One that they used.
        hook: One that decided something in them.
        since_ns, until_ns: When they began, in nanoseconds since the epoch; the second is no part of it.
        search: A part of their name, agent, tenant, service, error or model, the beginning of their id, user or
            session, or a whole trace id.
    """

    status: str = ""
    agent: str = ""
    tenant_id: str = ""
    user_id: str = ""
    session_id: str = ""
    model: str = ""
    hook: str = ""
    since_ns: int = 0
    until_ns: int = 0
    search: str = ""


@dataclass(frozen=True, slots=True)
class _Condition:
    """One filter: what to ask of the table that has its index, and the same of a run without an index."""

    table: FromClause
    by_index: ColumnElement[bool]
    of_run: ColumnElement[bool]

    @property
    def order(self) -> tuple[ColumnElement[int], ColumnElement[int]]:
        """By what its index is ordered."""
        return self.table.c.start_ns, self.table.c.id if self.table is runs else self.table.c.run


async def rows_of(
    connection: AsyncConnection, tenant: str | None, given: RunFilter, cursor: str, limit: int
) -> list[Any]:
    """The rows of a page of runs, the latest first, and one more if there are others.

    Args:
        connection: Where they are.
        tenant: Whose may be seen; ``None`` for all.
        given: Which to show.
        cursor: What came with the page before.
        limit: How many, up to 1,000.

    Raises:
        CursorError: The cursor is none.
    """
    place = after(cursor)
    until = min(given.until_ns or MOST, MOST if place is None else place[0] + 1)
    window = given.since_ns, until
    conditions = _conditions(tenant, given)
    search = await search_for(connection, given.search, window) if given.search.strip() else None
    first = conditions[0] if conditions else None
    if len(conditions) + (search is not None) > 1:
        counts = [await _count(connection, one, window) for one in conditions]
        if 0 in counts:
            return []
        first = min(zip(counts, range(len(counts)), conditions, strict=True))[-1]
    if search is not None:
        found = await found_by(connection, search)
        if found is not None:
            ids = [one[1] for one in found if place is None or one < place]
            return await _among(connection, _query(conditions, None, None), ids, limit)
    query = _query(conditions, first, search).where(*_within(_order(first)[0], window))
    return list((await connection.execute(paged(query, *_order(first), cursor, limit))).all())


def _order(first: _Condition | None) -> tuple[ColumnElement[int], ColumnElement[int]]:
    return first.order if first is not None else (runs.c.start_ns, runs.c.id)


async def _among(connection: AsyncConnection, query: Select[Any], ids: Sequence[int], limit: int) -> list[Any]:
    """The first of some runs that a query finds too."""
    rows: list[Any] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = query.where(runs.c.id.in_(ids[start : start + _AT_ONCE]))
        found = (await connection.execute(some)).all()
        rows += sorted(found, key=lambda row: (row.start_ns, row.id), reverse=True)
        if len(rows) > bounds(limit):
            break
    return rows[: bounds(limit) + 1]


def _query(conditions: Sequence[_Condition], first: _Condition | None, search: Search | None) -> Select[Any]:
    """All runs of a filter, found by the index of its first condition, or by no index."""
    query = select(runs)
    if first is not None:
        query = query.where(first.by_index)
        if first.table is not runs:
            query = query.join(first.table, first.order[1] == runs.c.id)
    query = query.where(*(one.of_run for one in conditions if one is not first))
    return query if search is None else query.where(search.condition)


def _conditions(tenant: str | None, given: RunFilter) -> list[_Condition]:
    """All filters but for time and search, those first that let few through as a rule."""
    found: list[_Condition] = []
    if given.status == "running":
        live = runs.c.updated_ns > time.time_ns() - LIVE_NS
        found.append(_Condition(runs, text("NOT ended") & live, text("NOT ended") & live))  # as in its index
    for table, column, wanted in (
        (run_hooks, run_hooks.c.hook, given.hook),
        (run_models, run_models.c.model, given.model),
    ):
        if wanted:
            its = column == short(wanted)
            of_run = select(table.c.run).where(its, table.c.start_ns == runs.c.start_ns, table.c.run == runs.c.id)
            found.append(_Condition(table, its, of_run.correlate(runs).exists()))
    equal = [(name, getattr(given, name)) for name in _EQUAL]
    if tenant is not None:
        found.append(_equal("tenant_id", tenant))
    return found + [_equal(name, wanted) for name, wanted in equal if wanted and wanted != "running"]


def _equal(name: str, wanted: str) -> _Condition:
    column = runs.c[name]
    return _Condition(runs, column == short(wanted), column.concat("") == short(wanted))


async def _count(connection: AsyncConnection, condition: _Condition, window: Window) -> int:
    """How many runs it lets through, up to ``ENOUGH``."""
    start_ns, run = condition.order
    some = select(run).where(condition.by_index, *_within(start_ns, window)).limit(ENOUGH).subquery()
    return (await connection.execute(select(func.count()).select_from(some))).scalar_one()


def _within(start_ns: ColumnElement[int], window: Window) -> list[ColumnElement[bool]]:
    since, until = window
    return [*([start_ns >= since] if since else []), *([start_ns < until] if until < MOST else [])]
