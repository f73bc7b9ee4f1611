"""Deletes telemetry that is too old or takes too much space, a little at a time, while others write.

Finished jobs and their events count as telemetry, and where space is short, so do deliveries to webhooks that have
ended; how old these may become is set with webhooks. What stays: the audit log and all that is managed; usage and
statistics of hooks, which are small, stay longer. Age is counted from when something was received, for runs from when
they last changed, and for jobs from when they ended: what a sender says of time cannot keep or delete anything.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, Table, and_, delete, func, select

from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.store.control.columns import MOST
from spanhook.store.control.database import Database
from spanhook.store.control.sql import sql
from spanhook.store.control.statistics import sum_up_day
from spanhook.store.control.tables import (
    decisions,
    execution_logs,
    hook_statistics,
    job_events,
    jobs,
    logs,
    metrics,
    resources,
    run_hooks,
    run_models,
    runs,
    spans,
    usage,
    webhook_deliveries,
)

_BATCH, _MOST = 2_000, 10_000
"""Rows that one transaction deletes: as a rule, and where there is too much."""
_SECOND_NS = 1_000_000_000
_SLACK_NS = 3_600 * _SECOND_NS
_ROW_BYTES = 400
"""What a row and its indexes take beside its data."""
_PAGES, _MOST_ROUNDS = 4_000, 64
_FEWEST, _USUAL_BYTES = 50, 1_000
_LOOK_S = 1.0
"""Between two looks at the size: at 20,000 spans a second a database grows by 20 MB in it."""
_HIGH, _LOW = 15 / 16, 7 / 8
"""Deleting begins above the first share of the size, and ends below the second; earlier where much comes in."""
_OLD = {
    spans: spans.c.received_ns,
    logs: logs.c.received_ns,
    metrics: metrics.c.received_ns,
    decisions: decisions.c.received_ns,
    execution_logs: execution_logs.c.received_ns,
    runs: runs.c.updated_ns,
    jobs: jobs.c.ended_ns,
}
"""The tables that are kept within limits, and by which time. What has none, or 0, stays."""
_TAKING_SPACE = {**_OLD, webhook_deliveries: webhook_deliveries.c.ended_ns}
"""Those that an SQLite file is kept small with."""


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How much is kept.

    Attributes:
        age_s: Seconds for which telemetry is kept; 0 for ever.
        sums_age_s: Seconds for which usage by day and statistics of hooks by hour are kept; 0 for ever.
        size_bytes: Bytes that the database may take; 0 for any. On PostgreSQL those of telemetry, by estimate.
        interval_s: Seconds between two sweeps. In between, the size is looked at every second.
    """

    age_s: float = 30 * 86_400.0
    sums_age_s: float = 400 * 86_400.0
    size_bytes: int = 0
    interval_s: float = 60.0


@dataclass(slots=True)
class RetentionFigures:
    """What retention has done since it was started.

    Attributes:
        deleted: Rows that were deleted, by table.
        bytes: What the database took when it was last looked at.
        sweeps, failures: How often it looked, and how often it could not.
        last_ns: When it last looked, in nanoseconds since the epoch.
    """

    deleted: dict[str, int] = field(default_factory=dict[str, int])
    bytes: int = 0
    sweeps: int = 0
    failures: int = 0
    last_ns: int = 0


class Retention:
    """Keeps a database within its limits.

    Args:
        database: The database.
        limits: How much is kept.
    """

    def __init__(self, database: Database, limits: RetentionLimits) -> None:
        self._database, self._limits = database, limits
        self._figures = RetentionFigures()
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    @property
    def figures(self) -> RetentionFigures:
        """What it has done."""
        return replace(self._figures, deleted=dict(self._figures.deleted))

    def start(self) -> None:
        """Look again and again, in the background, on the running loop."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop when the transaction that runs now has ended. What a sweep has deleted so far stays deleted."""
        self._closing.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def sweep(self) -> RetentionFigures:
        """Delete what is too old or too much, now.

        Raises:
            StoreError: The database cannot be used now.
        """
        figures, limits = self._figures, self._limits
        figures.last_ns = time.time_ns()
        figures.sweeps += 1
        if limits.age_s:
            before_ns = figures.last_ns - int(limits.age_s * _SECOND_NS)
            while await self._step(_delete_old, before_ns):
                pass
        if limits.sums_age_s:
            await self._step(_delete_sums, figures.last_ns - int(limits.sums_age_s * _SECOND_NS))
        while not self._closing.is_set() and await asyncio.to_thread(self._sum_up):
            pass
        await self._trim()
        for _ in range(_MOST_ROUNDS):
            await asyncio.to_thread(self._database.give_back, _PAGES)
            if self._closing.is_set() or await asyncio.to_thread(self._file_size) <= (limits.size_bytes or MOST):
                break
        return self.figures

    async def _trim(self) -> None:
        """Delete what is oldest until there is room again."""
        figures, most = self._figures, self._limits.size_bytes
        before, figures.bytes = figures.bytes, await asyncio.to_thread(self._size)
        grown = max(0, figures.bytes - before) if before else 0
        if not most or figures.bytes + grown <= most * _HIGH:
            return
        low = max(most // 2, int(most * _LOW) - 2 * grown)
        await asyncio.to_thread(self._delete_down_to, low)

    async def _run(self) -> None:
        limits, swept = self._limits, 0.0
        while not self._closing.is_set():
            try:
                if not swept or time.monotonic() - swept >= limits.interval_s:
                    swept = time.monotonic()
                    await self.sweep()
                elif limits.size_bytes:
                    await self._trim()
            except StoreError:
                self._figures.failures += 1
            except Exception as error:
                self._figures.failures += 1
                internal.report("store.retention", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), min(_LOOK_S, limits.interval_s))

    async def _step(self, delete_some: "_Delete", than: int) -> bool:
        """One short transaction. Returns whether there may be more to delete."""
        return await asyncio.to_thread(self._transaction, delete_some, than)

    def _transaction(self, delete_some: "_Delete", than: int) -> bool:
        with self._database.writing_here() as connection:
            deleted = {name: count for name, count in delete_some(connection, than).items() if count > 0}
        for name, count in deleted.items():
            self._figures.deleted[name] = self._figures.deleted.get(name, 0) + count
        return bool(deleted) and not self._closing.is_set()

    def _delete_down_to(self, low: int) -> None:
        """Delete what is oldest until the database takes no more bytes than that."""
        figures = self._figures
        while (over := figures.bytes - low) > 0 and self._transaction(_delete_oldest, over):
            figures.bytes = self._size()

    def _sum_up(self) -> int:
        with self._database.writing_here() as connection:
            return sum_up_day(connection, self._figures.last_ns)

    def _size(self) -> int:
        if self._database.dialect == "sqlite":
            pages, free, size = self._pages()
            return (pages - free) * size
        with self._database.reading_here() as connection:
            return sum(_estimated(connection, table) for table in (spans, logs))

    def _file_size(self) -> int:
        """The bytes of an SQLite file, with those that can be given back; 0 elsewhere, and if there are none."""
        pages, free, size = self._pages() if self._database.dialect == "sqlite" else (0, 0, 0)
        return pages * size if free else 0

    def _pages(self) -> tuple[int, int, int]:
        """How many pages there are, how many of them are free, and the bytes of one."""
        with self._database.reading_here() as connection:
            pages, free, size = (
                int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
                for name in ("page_count", "freelist_count", "page_size")
            )
        return pages, free, size


_Delete = Callable[[Connection, int], dict[str, int]]


def _delete_old(connection: Connection, before_ns: int) -> dict[str, int]:
    """Delete some of what is older than a time."""
    sql(connection).enter()  # those who write telemetry meanwhile would wait for one another's rows
    counts = {table.name: _delete_first(connection, table, before_ns) for table in _OLD}
    if not any(counts.values()):  # all that could need these has gone
        unused = delete(resources).where(resources.c.time_ns < before_ns - _SLACK_NS)
        counts[resources.name] = connection.execute(unused).rowcount
    return counts


def _delete_sums(connection: Connection, before_ns: int) -> dict[str, int]:
    """Delete usage and statistics of days and hours that are older than a time."""
    sql(connection).enter()
    days, hours = before_ns // (86_400 * _SECOND_NS), before_ns // (3_600 * _SECOND_NS)
    old = {usage.name: delete(usage).where(usage.c.day < days)}
    old[hook_statistics.name] = delete(hook_statistics).where(hook_statistics.c.hour < hours)
    return {name: connection.execute(query).rowcount for name, query in old.items()}


def _delete_oldest(connection: Connection, over: int) -> dict[str, int]:
    """Delete some rows of the table that has the oldest, not many more than take ``over`` bytes."""
    sql(connection).enter()
    tables = _TAKING_SPACE if connection.dialect.name == "sqlite" else _OLD
    firsts = {
        table: connection.execute(select(time_ns).where(time_ns > 0).order_by(time_ns).limit(1)).scalar()
        for table, time_ns in tables.items()
    }
    times = [(time_ns, table.name, table) for table, time_ns in firsts.items() if time_ns is not None]
    if not times:
        return {}
    _, name, table = min(times)
    rows = over // _usual(connection, table)
    return {name: _delete_first(connection, table, None, max(_FEWEST, min(_MOST, rows)))}


def _usual(connection: Connection, table: Table) -> int:
    """About how many bytes one of the oldest rows of a table takes."""
    large = next((table.c[name] for name in ("data", "body") if name in table.c), None)
    if large is None:
        return _USUAL_BYTES
    time_ns = _TAKING_SPACE[table]
    oldest = select(func.length(large).label("size")).where(time_ns > 0).order_by(time_ns).limit(_FEWEST).subquery()
    return _ROW_BYTES + int(connection.execute(select(func.avg(oldest.c.size))).scalar() or 0)


def _delete_first(connection: Connection, table: Table, before_ns: int | None, most: int = _BATCH) -> int:
    """Delete the oldest rows of a table, about ``most`` of them; only what is older than a time if there is one."""
    time_ns = _TAKING_SPACE[table]
    times = select(time_ns).where(time_ns > 0).order_by(time_ns)
    if before_ns is not None:
        times = times.where(time_ns < before_ns)
    first, last = (connection.execute(times.limit(1).offset(place)).scalar() for place in (0, most))
    if first is None:
        return 0
    old = time_ns < last if last is not None and last > first else time_ns <= first
    if last is None:  # there are no more than that
        old = time_ns < before_ns if before_ns is not None else time_ns >= first
    old = and_(time_ns > 0, old)
    if table is runs:
        gone = select(runs.c.id).where(old)
        for index in (run_models, run_hooks):
            connection.execute(delete(index).where(index.c.run.in_(gone)))
    if table is jobs:
        ended = select(jobs.c.job_id).where(old)
        connection.execute(delete(job_events).where(job_events.c.job_id.in_(ended)))
    return connection.execute(delete(table).where(old)).rowcount


def _estimated(connection: Connection, table: Table) -> int:
    """About how many bytes the rows of a table take; PostgreSQL itself counts those that are deleted too."""
    latest = select(func.octet_length(table.c.data).label("size")).order_by(table.c.id.desc()).limit(1_000).subquery()
    size = connection.execute(select(func.avg(latest.c.size))).scalar() or 0
    first, last = connection.execute(select(func.min(table.c.id), func.max(table.c.id))).one()
    return 0 if first is None else int((last - first + 1) * (float(size) + _ROW_BYTES))
