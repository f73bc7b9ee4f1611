"""Deletes telemetry that is too old or takes too much space, a little at a time, while others write.

What stays: the audit log and all that is managed; usage and statistics of hooks, which are small, stay longer. Age is
counted from when something was received, and for runs from when they last changed: what a sender says of time cannot
keep or delete anything.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, Table, delete, func, select

from spanhook.diagnostics import internal
from spanhook.errors import StoreError
from spanhook.store.control.database import Database
from spanhook.store.control.sql import sql
from spanhook.store.control.tables import (
    decisions,
    execution_logs,
    hook_statistics,
    logs,
    metrics,
    resources,
    run_hooks,
    run_models,
    runs,
    spans,
    usage,
)

_BATCH = 2_000
_SECOND_NS = 1_000_000_000
_SLACK_NS = 3_600 * _SECOND_NS
_ROW_BYTES = 400
"""What a row and its indexes take beside its data, on PostgreSQL."""
_PAGES = 4_000
_FEWEST, _USUAL_BYTES = 50, 1_500
_OLD = {
    spans: spans.c.received_ns,
    logs: logs.c.received_ns,
    metrics: metrics.c.received_ns,
    decisions: decisions.c.received_ns,
    execution_logs: execution_logs.c.received_ns,
    runs: runs.c.updated_ns,
}
"""The tables that are kept within limits, and by which time."""


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """How much is kept.

    Attributes:
        age_s: Seconds for which telemetry is kept; 0 for ever.
        sums_age_s: Seconds for which usage by day and statistics of hooks by hour are kept; 0 for ever.
        size_bytes: Bytes that the database may take; 0 for any. On PostgreSQL those of telemetry, by estimate.
        interval_s: Seconds between two looks.
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

    @property
    def figures(self) -> RetentionFigures:
        """What it has done."""
        return replace(self._figures, deleted=dict(self._figures.deleted))

    def start(self) -> None:
        """Look again and again, in the background, on the running loop."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop. What a sweep has deleted so far stays deleted."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
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
        figures.bytes = await asyncio.to_thread(self._size)
        if limits.size_bytes:
            while (over := figures.bytes - limits.size_bytes) > 0 and await self._step(_delete_oldest, over):
                figures.bytes = await asyncio.to_thread(self._size)
        await asyncio.to_thread(self._database.give_back, _PAGES)
        return self.figures

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except StoreError:
                self._figures.failures += 1
            except Exception as error:
                self._figures.failures += 1
                internal.report("store.retention", error)
            await asyncio.sleep(self._limits.interval_s)

    async def _step(self, delete_some: "_Delete", than: int) -> bool:
        """One short transaction. Returns whether it found anything."""
        deleted = await asyncio.to_thread(self._transaction, delete_some, than)
        for name, count in deleted.items():
            self._figures.deleted[name] = self._figures.deleted.get(name, 0) + count
        return bool(deleted)

    def _transaction(self, delete_some: "_Delete", than: int) -> dict[str, int]:
        with self._database.writing_here() as connection:
            return {name: count for name, count in delete_some(connection, than).items() if count > 0}

    def _size(self) -> int:
        with self._database.reading_here() as connection:
            if self._database.dialect == "sqlite":
                pages, free, size = (
                    int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())
                    for name in ("page_count", "freelist_count", "page_size")
                )
                return (pages - free) * size
            return sum(_estimated(connection, table) for table in (spans, logs))


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
    firsts = {
        table: connection.execute(select(time_ns).order_by(time_ns).limit(1)).scalar()
        for table, time_ns in _OLD.items()
    }
    times = [(time_ns, table.name, table) for table, time_ns in firsts.items() if time_ns is not None]
    if not times:
        return {}
    _, name, table = min(times)
    return {name: _delete_first(connection, table, None, max(_FEWEST, min(_BATCH, over // _USUAL_BYTES)))}


def _delete_first(connection: Connection, table: Table, before_ns: int | None, most: int = _BATCH) -> int:
    """Delete the oldest rows of a table, about ``most`` of them; only what is older than a time if there is one."""
    time_ns = _OLD[table]
    times = select(time_ns).order_by(time_ns)
    if before_ns is not None:
        times = times.where(time_ns < before_ns)
    last = connection.execute(times.limit(1).offset(most - 1)).scalar()
    if last is None:  # there are fewer
        last = connection.execute(times.order_by(None).order_by(time_ns.desc()).limit(1)).scalar()
    if last is None:
        return 0
    if table is runs:
        gone = select(runs.c.id).where(time_ns <= last)
        for index in (run_models, run_hooks):
            connection.execute(delete(index).where(index.c.run.in_(gone)))
    return connection.execute(delete(table).where(time_ns <= last)).rowcount


def _estimated(connection: Connection, table: Table) -> int:
    """About how many bytes the rows of a table take; PostgreSQL itself counts those that are deleted too."""
    latest = select(func.octet_length(table.c.data).label("size")).order_by(table.c.id.desc()).limit(1_000).subquery()
    size = connection.execute(select(func.avg(latest.c.size))).scalar() or 0
    first, last = connection.execute(select(func.min(table.c.id), func.max(table.c.id))).one()
    return 0 if first is None else int((last - first + 1) * (float(size) + _ROW_BYTES))
