"""What a search stands for: values in columns that have an index, rather than a text that all runs are read for.

Names are few, so those that have the searched text anywhere in them are listed first. Ids can be as many as runs, so
they are found by how they begin.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Select, and_, func, or_, select, text, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.store.control.tables import run_models, runs, spans

ENOUGH = 5_000
"""Runs that match: if there are more, the latest of them are near."""
_MOST_VALUES = 5_000
_MOST_MATCHES = 500
_LAST = "\U0010ffff"
_TRACE_ID = re.compile("[0-9a-f]{32}")
NAMES = (runs.c.agent, runs.c.tenant_id, runs.c.service, runs.c.name, runs.c.error_type, run_models.c.model)
IDS = (runs.c.run_id, runs.c.user_id, runs.c.session_id)

Window = tuple[int, int]
"""When runs begin, in nanoseconds since the epoch; the second is no part of it."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search.

    Attributes:
        sources: Queries for ``start_ns`` and ``id`` of the runs that match, each by an index, some twice. ``None`` if
            too many names match to list them, so that many runs do.
        condition: Whether a run matches, by what it has itself.
    """

    sources: Sequence[Select[Any, Any]] | None
    condition: ColumnElement[bool]


def begins(column: ColumnElement[str], wanted: str, dialect: str) -> ColumnElement[bool]:
    """Whether a text begins like another, as an index by bytes can tell."""
    if dialect == "postgresql":
        return and_(column.op("~>=~")(wanted), column.op("~<~")(wanted + _LAST))
    return and_(column >= wanted, column < wanted + _LAST)


async def search_for(connection: AsyncConnection, given: str, window: Window) -> Search:
    """What to look for, in the runs of a window of time.

    Args:
        connection: Where the runs are.
        given: What somebody searches for.
        window: When the runs begin.
    """
    wanted = given.strip()
    if _TRACE_ID.fullmatch(wanted.lower()):
        of_trace = select(spans.c.run_id).where(spans.c.trace_id == bytes.fromhex(wanted))
        ways = runs.c.run_id.in_((wanted, wanted.lower())), runs.c.run_id.in_(of_trace)
        return Search([_source(runs.c.run_id, one, window) for one in ways], or_(*ways))
    dialect = connection.dialect.name
    by_id = [(column, begins(column, wanted, dialect)) for column in IDS]
    lower = wanted.lower()
    condition = or_(
        *(func.lower(column).contains(lower, autoescape=True) for column in NAMES if column.table is runs),
        *(one for _, one in by_id),
        _one_of_its_models(func.lower(run_models.c.model).contains(lower, autoescape=True)),
    )
    sources = [_source(column, one, window) for column, one in by_id]
    for column in NAMES:
        known = await _values(connection, column)
        matching = [one for one in known if lower in one.lower()]
        if len(known) >= _MOST_VALUES or len(matching) > _MOST_MATCHES:
            return Search(None, condition)
        if matching:
            sources.append(_source(column, column.in_(matching), window))
    return Search(sources, condition)


async def found_by(connection: AsyncConnection, search: Search) -> list[tuple[int, int]] | None:
    """Start and id of the runs that match, the latest first; ``None`` if they are many."""
    if search.sources is None:
        return None
    limited = [select(one.limit(ENOUGH + 1).subquery()) for one in search.sources]
    rows = (await connection.execute(union_all(*limited))).all()
    found = {(row.start_ns, row.id) for row in rows}
    return None if len(rows) > ENOUGH else sorted(found, reverse=True)


def _source(column: Column[str], condition: ColumnElement[bool], window: Window) -> Select[Any, Any]:
    table = column.table
    of = runs.c.id if table is runs else run_models.c.run.label("id")
    since, until = window
    begun = table.c.start_ns + 0  # the index of times is not what finds them
    return select(table.c.start_ns, of).where(condition, begun >= since, begun < until)


def _one_of_its_models(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    used = select(run_models.c.run).where(run_models.c.run == runs.c.id, condition)
    return used.correlate(runs).exists()


async def _values(connection: AsyncConnection, column: Column[str]) -> list[str]:
    """The different values of a column that an index begins with, one step through the index for each."""
    table, name = column.table.name, column.name
    query = f"""
        WITH RECURSIVE found (value, number) AS (
            SELECT min({name}), 1 FROM {table} WHERE {name} > ''
            UNION ALL
            SELECT (SELECT min({name}) FROM {table} WHERE {name} > found.value), number + 1
            FROM found WHERE value IS NOT NULL AND number < {_MOST_VALUES}
        )
        SELECT value FROM found WHERE value IS NOT NULL"""  # noqa: S608 - names of our own
    return list((await connection.execute(text(query))).scalars())
