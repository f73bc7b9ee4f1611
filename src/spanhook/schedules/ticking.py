"""Deals with the ticks of several schedules, together with every other process that has the same store."""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError
from spanhook.schedules.deciding import Decided, decide, ended, extended
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.schedule import Schedule
from spanhook.schedules.state import CronState
from spanhook.store import States

LEASE_S = 60.0
_KEY = "cron:"


class Ticker:
    """The schedules of one process. Whoever asks first, in whatever process, gets a tick; nobody gets it again.

    Args:
        entries: The schedules.
        states: What is known of them; on each machine the same.
        lease: Seconds for which an execution counts as under way, unless ``extend`` is called meanwhile.
        clock: Seconds since the epoch.

    Raises:
        ConfigurationError: Two schedules have the same id.
    """

    def __init__(
        self,
        entries: Iterable[CronEntry],
        states: States,
        lease: float = LEASE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._states, self._lease, self._clock = states, timedelta(seconds=lease), clock
        self._entries: dict[str, tuple[CronEntry, Schedule]] = {}
        for entry in entries:
            if entry.id in self._entries:
                raise ConfigurationError(f"cron has two entries with the id {entry.id!r}; ids must be unique")
            self._entries[entry.id] = entry, entry.times()

    def poll(self) -> list[tuple[CronEntry, Decided]]:
        """Deal with the ticks that have come: what is to be run now, and what is not, by schedule.

        Raises:
            StoreError: The store cannot be used now; no tick is lost by that.
        """
        found: list[tuple[CronEntry, Decided]] = []
        for entry, schedule in self._entries.values():
            decided = self._states.change(_KEY + entry.id, self._deciding(entry, schedule))
            if decided.run or decided.passed:
                found.append((entry, decided))
        return found

    def extend(self, cron_id: str, execution_id: str) -> bool:
        """Extend the lease of an execution; returns whether it still counts as under way."""
        until = self._now() + self._lease

        def change(text: str | None) -> tuple[str, bool]:
            known = _state(cron_id, text) or self._begun(cron_id)
            later = extended(known, execution_id, until)
            return later.as_text(), any(one.execution_id == execution_id for one in later.running)

        return self._states.change(_KEY + cron_id, change)

    def end(self, cron_id: str, execution_id: str) -> None:
        """Note that an execution has ended, however it did. What has waited for that comes with the next ``poll``."""

        def change(text: str | None) -> tuple[str, None]:
            return ended(_state(cron_id, text) or self._begun(cron_id), execution_id).as_text(), None

        self._states.change(_KEY + cron_id, change)

    def wait_s(self) -> float:
        """Seconds until the next tick of any schedule; infinite if there is none."""
        now = self._now()
        ticks = [next(schedule.after(now), None) for entry, schedule in self._entries.values() if entry.enabled]
        return min(((tick - now).total_seconds() for tick in ticks if tick is not None), default=float("inf"))

    def _deciding(self, entry: CronEntry, schedule: Schedule) -> Callable[[str | None], tuple[str, Decided]]:
        def change(text: str | None) -> tuple[str, Decided]:
            decided = decide(entry, schedule, _state(entry.id, text), self._now(), self._lease)
            return decided.state.as_text(), decided

        return change

    def _begun(self, cron_id: str) -> CronState:
        entry, schedule = self._entries[cron_id]
        return decide(entry, schedule, None, self._now(), self._lease).state

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _state(cron_id: str, text: str | None) -> CronState | None:
    if text is None:
        return None
    try:
        return CronState.from_text(text)
    except ValueError as error:
        log.warning("spanhook: the state of the schedule %r cannot be read; it begins anew: %s", cron_id, error)
        return None
