"""Periods after which a budget starts anew."""

from datetime import datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from spanhook.hooks.budget._config import Window

KEPT_S = 30 * 86400.0
"""How long the account of a run or session without a period is kept after it was last used."""


class Period(NamedTuple):
    """One period.

    Attributes:
        name: When it begins, as in the account's name; empty if it has no end.
        ends: When it ends, in seconds since the epoch; ``None`` if never.
    """

    name: str
    ends: float | None


def period_at(window: Window, zone: ZoneInfo, now: float) -> Period:
    """The period that contains a moment.

    A day is that of the calendar, so it has 23 or 25 hours when the clocks change.

    Args:
        window: Its length.
        zone: The time zone of days and months.
        now: Seconds since the epoch.
    """
    if window == "total":
        return Period("", None)
    if window == "hour":
        begins = now // 3600 * 3600
        return Period(f"{datetime.fromtimestamp(begins, ZoneInfo('UTC')):%Y-%m-%dT%HZ}", begins + 3600)
    local = datetime.fromtimestamp(now, zone)
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if window == "day":
        following = day + timedelta(days=1)
        return Period(f"{day:%Y-%m-%d}", following.timestamp())
    month = day.replace(day=1)
    following = month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)
    return Period(f"{month:%Y-%m}", following.timestamp())
