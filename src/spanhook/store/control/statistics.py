"""Sums up statistics of hooks by hour, when they are old, as one row for each day: a year then has 365 rows per hook.

The row of a day is that of its first hour, so whoever reads rows by hour need not know.
"""

import json
from collections import Counter
from typing import Any

from sqlalchemy import Connection, delete, select

from spanhook.store.control.sql import sql
from spanhook.store.control.tables import hook_statistics

_HOURS = 24
_HOUR_NS = 3_600 * 1_000_000_000
_KEPT_HOURS = 48
_COUNTS = ("executions", "failures", "rejections")
_KEY = ("hour", "tenant_id", "hook", "event_type")


def sum_up_day(connection: Connection, now_ns: int) -> int:
    """Sum up the first day that has not been, if it ended more than a day ago.

    Args:
        connection: A transaction that writes.
        now_ns: The time, in nanoseconds since the epoch.

    Returns:
        How many rows it had; 0 if there is no such day.
    """
    to, table = sql(connection), hook_statistics.c
    to.enter()
    latest = (now_ns // _HOUR_NS - _KEPT_HOURS) // _HOURS * _HOURS
    by_hour = select(table.hour).where(table.hour < latest, table.hour % _HOURS != 0)
    first = connection.execute(by_hour.order_by(table.hour).limit(1)).scalar()
    if first is None:
        return 0
    day = first // _HOURS * _HOURS
    of_day = table.hour >= day, table.hour < day + _HOURS
    rows = connection.execute(select(hook_statistics).where(*of_day)).all()
    sums: dict[tuple[Any, ...], Counter[str]] = {}
    for row in rows:
        found = sums.setdefault((day, row.tenant_id, row.hook, row.event_type), Counter())
        found.update({name: getattr(row, name) for name in _COUNTS})
        found.update(row.buckets or {})
    connection.execute(delete(hook_statistics).where(*of_day))
    kept = [
        (*key, *(found.pop(name, 0) for name in _COUNTS), json.dumps(dict(found)))
        for key, found in sorted(sums.items())
    ]
    to.insert(hook_statistics, (*_KEY, *_COUNTS, "buckets"), kept)
    return len(rows)
