"""The execution log of hooks, and statistics of it that do not read the log."""

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from spanhook.store.control.columns import bounded, clean
from spanhook.store.control.database import Database
from spanhook.store.control.facts import short
from spanhook.store.control.paging import Page, page, paged
from spanhook.store.control.sql import Sql, sql
from spanhook.store.control.tables import execution_logs, hook_statistics

HOUR_NS = 3_600 * 1_000_000_000
_STEPS = 4
"""Buckets of durations grow by the fourth root of two: percentiles are right within a tenth."""
_MOST_BUCKET = 40 * _STEPS
_REFUSED = ("reject", "attempted", "too_late")
_FAILED = ("error", "timeout")
_LOG = (
    *("log_id", "tenant_id", "event_type", "name", "mode", "request_id", "aborted", "abort_reason", "duration_ns"),
    *("time_ns", "received_ns", "results"),
)
_STATISTIC = ("hour", "tenant_id", "hook", "event_type")
_Key = tuple[int, str, str, str]
Counts = dict[_Key, Counter[str | int]]
"""By hour since the epoch, tenant, hook and event."""
_COUNTS = ("executions", "failures", "rejections")


@dataclass(frozen=True, slots=True)
class Execution:
    """What one hook did in a chain.

    Attributes:
        hook: Its name.
        decision: What it decided.
        success: False if it raised an exception or ran out of time.
        duration_ns: Its own time.
        error: Why it failed or refused.
        data: Further facts, for JSON.
        fail_mode: What its failure means, ``open`` or ``closed``; empty if unknown.
    """

    hook: str
    decision: str = "allow"
    success: bool = True
    duration_ns: int = 0
    error: str = ""
    data: dict[str, Any] | None = None
    fail_mode: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEntry:
    """One chain of hooks that ran: an entry of the execution log.

    Attributes:
        log_id: Its id; an entry that is known already is not counted again.
        time_ns: When its first hook had finished, in nanoseconds since the epoch.
    """

    log_id: str
    tenant_id: str = ""
    event_type: str
    name: str = ""
    mode: str = "enforce"
    request_id: str = ""
    aborted: bool = False
    abort_reason: str = ""
    duration_ns: int = 0
    time_ns: int
    results: tuple[Execution, ...] = ()


@dataclass(frozen=True, slots=True)
class HookFigures:
    """Statistics of one hook for one event.

    Attributes:
        executions, failures, rejections: How often it ran, failed and refused.
        p50_ms, p95_ms: Percentiles of its own time in milliseconds, within a tenth.
    """

    hook: str
    event_type: str
    executions: int
    failures: int
    rejections: int
    p50_ms: float
    p95_ms: float


async def record_executions(database: Database, entries: Sequence[ExecutionEntry]) -> int:
    """Write entries, and count what their hooks did.

    Returns:
        How many were not known.

    Raises:
        StoreError: The database cannot be used now.
    """
    if not entries:
        return 0
    async with database.writing() as connection:
        return await connection.run_sync(_record, entries)


def _record(connection: Connection, entries: Sequence[ExecutionEntry]) -> int:
    to = sql(connection)
    to.enter()
    new = write_entries(to, entries)
    counts: Counts = {}
    for one in new:
        _count(counts, one, short(one.tenant_id))
    add_counts(to, counts)
    return len(new)


def write_entries(to: Sql, entries: Iterable[ExecutionEntry]) -> list[ExecutionEntry]:
    """Write entries, and count nothing. Returns those that were not known."""
    before = to.last(execution_logs)
    given = {(short(one.log_id), short(one.tenant_id)): one for one in entries}
    to.insert(execution_logs, _LOG, [_row(*key, one) for key, one in given.items()])
    query = select(execution_logs.c.log_id, execution_logs.c.tenant_id).where(execution_logs.c.id > before)
    return [given[row.log_id, row.tenant_id] for row in to.connection.execute(query)]


def add_counts(to: Sql, counts: Counts) -> None:
    """Add to the statistics: executions, failures and rejections by these names, durations by ``bucket``."""
    for key, known in _known(to.connection, counts).items():
        counts[key].update(known)
    rows = [(*key, *(bounded(found[one]) for one in _COUNTS), _kept(found)) for key, found in sorted(counts.items())]
    columns = (*_COUNTS, "buckets")
    to.insert(hook_statistics, (*_STATISTIC, *columns), rows, to.update(", ".join(_STATISTIC), columns))


def _row(log_id: str, tenant_id: str, entry: ExecutionEntry) -> tuple[Any, ...]:
    results = [
        {"hook": one.hook, "decision": one.decision, "success": one.success, "duration_ns": one.duration_ns}
        | ({"error": one.error} if one.error else {})
        | ({"data": one.data} if one.data else {})
        | ({"fail_mode": one.fail_mode} if one.fail_mode else {})
        for one in entry.results
    ]
    return (
        *(log_id, tenant_id, short(entry.event_type), short(entry.name), short(entry.mode), short(entry.request_id)),
        *(entry.aborted, clean(entry.abort_reason), entry.duration_ns, entry.time_ns),
        *(time.time_ns(), json.dumps(results)),
    )


def _known(connection: Connection, counts: Counts) -> Counts:
    """What was counted before for the same keys."""
    table = hook_statistics.c
    hours, tenants = {key[0] for key in counts}, {key[1] for key in counts}
    query = select(hook_statistics).where(table.hour.in_(sorted(hours)), table.tenant_id.in_(sorted(tenants)))
    found: Counts = {}
    for row in connection.execute(query) if counts else ():
        key = row.hour, row.tenant_id, row.hook, row.event_type
        if key in counts:
            found[key] = Counter({**{name: getattr(row, name) for name in _COUNTS}, **_buckets(row.buckets)})
    return found


def _kept(found: Counter[str | int]) -> str:
    return json.dumps({one: found[one] for one in found if isinstance(one, int)})


def _buckets(kept: dict[str, int] | None) -> dict[int, int]:
    return {int(number): count for number, count in (kept or {}).items()}


def _count(counts: Counts, entry: ExecutionEntry, tenant_id: str) -> None:
    for one in entry.results:
        if one.decision == "skipped":
            continue
        key = entry.time_ns // HOUR_NS, tenant_id, short(one.hook), short(entry.event_type)
        found = counts.setdefault(key, Counter())
        found["executions"] += 1
        found["failures"] += not one.success or one.decision in _FAILED
        found["rejections"] += one.decision in _REFUSED
        found[bucket(one.duration_ns)] += 1


def bucket(duration_ns: int) -> int:
    """The bucket of a duration: 0 up to a microsecond, then four for each doubling."""
    micro = duration_ns / 1000
    return 0 if micro <= 1 else min(_MOST_BUCKET, 1 + int(math.log2(micro) * _STEPS))


def _middle_ms(number: int) -> float:
    return 0.0 if number == 0 else 2 ** ((number - 0.5) / _STEPS) / 1000


async def hook_figures(database: Database, tenant: str | None, *, since_ns: int = 0) -> list[HookFigures]:
    """Statistics of hooks, by hook and event.

    Args:
        database: Where they are.
        tenant: Whose may be seen; ``None`` for all.
        since_ns: From the hour of this time on, in nanoseconds since the epoch; what is older than two days is kept
            by day, in UTC.

    Raises:
        StoreError: The database cannot be used now.
    """
    table = hook_statistics.c
    columns = (table.hook, table.event_type, *(table[name] for name in _COUNTS), table.buckets)
    query = select(*columns).where(table.hour >= since_ns // HOUR_NS)
    if tenant is not None:
        query = query.where(table.tenant_id == tenant)
    async with database.reading() as connection:
        rows: list[tuple[Any, ...]] = [tuple(row) for row in await connection.execute(query)]
    found: dict[tuple[str, str], tuple[list[int], dict[str, int]]] = {}
    for hook, event_type, *numbers, kept in rows:
        counts, durations = found.setdefault((hook, event_type), ([0, 0, 0], {}))
        counts[:] = [sum(both) for both in zip(counts, numbers, strict=True)]
        buckets: dict[str, int] = kept or {}
        for number, count in buckets.items():
            durations[number] = durations.get(number, 0) + count
    return [_figures(*key, *found[key]) for key in sorted(found)]


def _figures(hook: str, event_type: str, counts: list[int], durations: dict[str, int]) -> HookFigures:
    executions, failures, rejections = counts
    buckets = sorted(_buckets(durations).items())
    p50, p95 = (_percentile(buckets, executions * share) for share in (0.50, 0.95))
    return HookFigures(hook, event_type, executions, failures, rejections, p50, p95)


def _percentile(buckets: Iterable[tuple[int, int]], rank: float) -> float:
    seen = 0
    for number, executions in buckets:
        seen += executions
        if seen >= rank:
            return _middle_ms(number)
    return 0.0


async def executions_page(
    database: Database, tenant: str | None, *, event_type: str = "", cursor: str = "", limit: int = 50
) -> Page[tuple[int, ExecutionEntry]]:
    """A page of entries with their numbers, the last that was written first.

    Args:
        database: Where they are.
        tenant: Whose may be seen; ``None`` for all.
        event_type: Only those of one event.
        cursor: What came with the page before.
        limit: How many, up to 1,000.

    Raises:
        CursorError: The cursor is none.
        StoreError: The database cannot be used now.
    """
    table = execution_logs.c
    query = select(execution_logs)
    if tenant is not None:
        query = query.where(table.tenant_id == tenant)
    if event_type:
        query = query.where(table.event_type == short(event_type))
    async with database.reading() as connection:
        rows = (await connection.execute(paged(query, table.id, table.id, cursor, limit))).all()
    return page([(row.id, _entry(row)) for row in rows], [(row.id, row.id) for row in rows], limit)


async def find_execution(database: Database, tenant: str | None, log_id: str) -> ExecutionEntry | None:
    """One entry; ``None`` if there is none that may be seen.

    Raises:
        StoreError: The database cannot be used now.
    """
    query = select(execution_logs).where(execution_logs.c.log_id == short(log_id))
    if tenant is not None:
        query = query.where(execution_logs.c.tenant_id == tenant)
    async with database.reading() as connection:
        row = (await connection.execute(query)).first()
    return None if row is None else _entry(row)


def _entry(row: Any) -> ExecutionEntry:
    results = tuple(Execution(**one) for one in row.results)
    return ExecutionEntry(
        log_id=row.log_id,
        tenant_id=row.tenant_id,
        event_type=row.event_type,
        name=row.name,
        mode=row.mode,
        request_id=row.request_id,
        aborted=row.aborted,
        abort_reason=row.abort_reason,
        duration_ns=row.duration_ns,
        time_ns=row.time_ns,
        results=results,
    )
