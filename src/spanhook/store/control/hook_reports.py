"""What processes report of their hooks: counts since they began, and entries of their execution logs."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from spanhook.store.control.executions import HOUR_NS, Counts, ExecutionEntry, add_counts, bucket, write_entries
from spanhook.store.control.facts import short
from spanhook.store.control.sql import sql

_MS_NS = 1_000_000
_MEDIAN_OF = 10
"""One in so many executions is counted with the 95th percentile, the others with the median."""


@dataclass(frozen=True, slots=True)
class HookCount:
    """What one hook has done for one event since its process began.

    Attributes:
        hook, event_type: Its name, and the event.
        executions, failures, rejections: How often it ran, failed and refused.
        time_ns: Its own time, of all executions together.
        p50_ms, p95_ms: Percentiles of its latest times in milliseconds, if the process knows them.
    """

    hook: str
    event_type: str
    executions: int
    failures: int = 0
    rejections: int = 0
    time_ns: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None

    @property
    def key(self) -> str:
        """What tells hooks of a process apart."""
        return f"{self.event_type} {self.hook}"

    @property
    def counted(self) -> list[int]:
        """What was counted, for JSON."""
        return [self.executions, self.failures, self.rejections, self.time_ns]


def take_report(
    connection: Connection,
    tenant_id: str,
    before: Mapping[str, list[int]],
    counts: Iterable[HookCount],
    entries: Iterable[ExecutionEntry],
) -> dict[str, list[int]]:
    """Add what is new in a report to the statistics, and keep its entries; once, however often it is sent.

    Args:
        connection: A transaction that writes.
        tenant_id: Whose process it is.
        before: What the process had counted when it last reported.
        counts: What it has counted.
        entries: Entries of its execution log, of its tenant.

    Returns:
        What to give as ``before`` next time.
    """
    to = sql(connection)
    hour, known = time.time_ns() // HOUR_NS, dict(before)
    found: Counts = {}
    for one in counts:
        new = _new(known.get(one.key), one.counted)
        known[one.key] = one.counted
        if new[0] > 0:
            key = hour, short(tenant_id), short(one.hook), short(one.event_type)
            found[key] = found.get(key, Counter()) + Counter(_named(one, *new))
    add_counts(to, found)
    write_entries(to, entries)
    return known


def _new(before: list[int] | None, now: list[int]) -> list[int]:
    if before is None or now[0] < before[0]:  # a hook that was replaced counts from the start
        return now
    return [max(0, one - other) for one, other in zip(now, before, strict=True)]


def _named(one: HookCount, executions: int, failures: int, rejections: int, time_ns: int) -> dict[Any, int]:
    counted: dict[Any, int] = {"executions": executions, "failures": failures, "rejections": rejections}
    if one.p50_ms is None or one.p95_ms is None:
        return {**counted, bucket(time_ns // executions): executions}
    slow = -(-executions // _MEDIAN_OF)
    durations = Counter({bucket(int(one.p50_ms * _MS_NS)): executions - slow})
    durations[bucket(int(one.p95_ms * _MS_NS))] += slow
    return {**counted, **durations}
