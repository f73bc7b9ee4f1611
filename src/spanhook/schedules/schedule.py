"""The ticks of a cron expression in a time zone.

Expressions are those of Debian's cron, as ``cronsim`` has them: five fields, names of days and months, ``L``, ``LW``
and ``#``. So are its rules for daylight saving: a schedule for certain hours and minutes has a tick that falls into
skipped time right after it, and one in repeated time once, the first time; one with ``*`` in its minutes or hours
follows the time that passes.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from spanhook.errors import ConfigurationError

_FIELDS = 5
_WINDOW = timedelta(days=31)
_SETTLED = timedelta(days=2)
"""Within this time of a tick, clocks may have been changed."""


class Schedule:
    """The ticks of an expression, as times in UTC with whole seconds.

    Args:
        expression: Such as ``0 9 * * MON-FRI``.
        time_zone: The name of its time zone, such as ``Europe/Berlin``.

    Raises:
        ConfigurationError: The expression or the time zone cannot be used, or ``cronsim`` is not installed.
    """

    def __init__(self, expression: str, time_zone: str = "UTC") -> None:
        try:
            from cronsim import CronSim, CronSimError
        except ImportError as error:
            raise ConfigurationError('schedules need cronsim; pip install "spanhook[cron]"') from error
        self.expression, self.time_zone = " ".join(expression.split()), time_zone
        self._simulated = CronSim
        try:
            self._zone = UTC if time_zone == "UTC" else ZoneInfo(time_zone)
        except (KeyError, ValueError, OSError) as error:
            raise ConfigurationError(
                f"time_zone={time_zone!r} is unknown; expected a name such as 'Europe/Berlin', or 'UTC'"
            ) from error
        if len(expression.split()) != _FIELDS:
            raise ConfigurationError(
                f"schedule={expression!r} has {len(expression.split())} fields, expected five: minute, hour, day of "
                "month, month, day of week, such as '0 9 * * MON-FRI'"
            )
        try:
            next(CronSim(self.expression, datetime(2000, 1, 1, tzinfo=UTC)))
        except CronSimError as error:
            raise ConfigurationError(
                f"schedule={expression!r}: {_lowered(str(error))}; expected minute, hour, day of month, month, day of "
                "week, such as '0 9 * * MON-FRI'"
            ) from error
        except StopIteration:
            raise ConfigurationError(f"schedule={expression!r} never comes; correct its day and month") from None

    def after(self, since: datetime) -> Iterator[datetime]:
        """The ticks after a time, without end but for days that never come again.

        Args:
            since: An aware time.
        """
        last = since
        for tick in self._simulated(self.expression, since.astimezone(self._zone)):
            # In repeated hours it may give earlier ones, and several that were skipped are one.
            at = tick.astimezone(UTC)
            if at > last:
                last = at
                yield at

    def last(self, now: datetime) -> datetime | None:
        """The last tick, up to and including ``now``; ``None`` if there was none in the last 50 years."""
        later = now.astimezone(self._zone) + timedelta(seconds=1)
        about = next(self._simulated(self.expression, later, reverse=True), None)
        if about is None:
            return None
        ticks = takewhile(lambda tick: tick <= now, self.after(about.astimezone(UTC) - _SETTLED))
        return max(ticks, default=None)

    def due(self, since: datetime, now: datetime) -> list[datetime]:
        """The ticks after ``since``, up to and including ``now``; of a long time, those of its last 31 days."""
        first = next(self.after(since), None)
        if first is None or first > now:
            return []
        if now - since > _WINDOW:
            last = self.last(now)
            since = since if last is None else max(since, last - _WINDOW)
        return list(takewhile(lambda tick: tick <= now, self.after(since)))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]
