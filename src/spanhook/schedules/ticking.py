"""Deals with the ticks of several schedules, together with every other process that has the same store."""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError, StoreError
from spanhook.schedules.deciding import Decided, Execution, decide, ended, extended, released
from spanhook.schedules.entry import CronEntry
from spanhook.schedules.schedule import Schedule
from spanhook.schedules.state import CronState, Fate
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
        follows: Whether executions of processes that have ended are followed to their end, rather than lost.

    Raises:
        ConfigurationError: Two schedules have the same id.
    """

    def __init__(
        self,
        entries: Iterable[CronEntry],
        states: States,
        lease: float = LEASE_S,
        clock: Callable[[], float] = time.time,
        *,
        follows: bool = False,
    ) -> None:
        self._states, self._lease, self._clock = states, timedelta(seconds=lease), clock
        self._follows = follows
        self._entries: dict[str, tuple[CronEntry, Schedule]] = {}
        self.replace(entries)

    def replace(self, entries: Iterable[CronEntry]) -> None:
        """Go on with these schedules. Ticks of one that is new, or whose times have changed, count from now on.

        Raises:
            ConfigurationError: Two have the same id; nothing has changed.
        """
        found: dict[str, tuple[CronEntry, Schedule]] = {}
        for entry in entries:
            if entry.id in found:
                raise ConfigurationError(f"cron has two entries with the id {entry.id!r}; ids must be unique")
            found[entry.id] = entry, entry.times()
        self._entries = found

    @property
    def entries(self) -> tuple[CronEntry, ...]:
        """The schedules."""
        return tuple(entry for entry, _ in self._entries.values())

    def poll(self) -> list[tuple[CronEntry, Decided]]:
        """Deal with the ticks that have come: what is to be run now, and what is not, by schedule.

        States are read first, and only those are changed of which there is something new. What fails in between is
        tried again with the next call, and raised if nothing else was found.

        Raises:
            StoreError: The store cannot be used now; no tick is lost by that.
        """
        found: list[tuple[CronEntry, Decided]] = []
        failure: Exception | None = None
        entries = tuple(self._entries.values())
        texts = self._states.read([_KEY + entry.id for entry, _ in entries]) if entries else {}
        for entry, schedule in entries:
            text = texts.get(_KEY + entry.id)
            try:
                if text is not None and self._deciding(entry, schedule)(text)[0] == text:
                    continue
                decided = self._states.change(_KEY + entry.id, self._deciding(entry, schedule))
            except StoreError as error:
                failure = error
                break
            except Exception as error:
                failure = error
                continue
            if decided.run or decided.passed or decided.followed:
                found.append((entry, decided))
        if failure is not None and not found:  # what was found must be run
            raise failure
        return found

    def extend(self, cron_id: str, execution: Execution) -> bool:
        """Extend the lease of an execution; returns whether it still counts as under way, and is this process's."""
        until = self._now() + self._lease

        def change(text: str | None) -> tuple[str, bool]:
            known = _state(cron_id, text) or _unknown(self._now())
            later = extended(known, execution.execution_id, until, execution.turn)
            mine = execution.execution_id, execution.turn
            return later.as_text(), any((one.execution_id, one.turn) == mine for one in later.running)

        return self._states.change(_KEY + cron_id, change)

    def release(self, cron_id: str, execution: Execution) -> None:
        """Let any process follow an execution at once.

        Raises:
            StoreError: The store cannot be used now; then its lease runs out.
        """

        def change(text: str | None) -> tuple[str, None]:
            now = self._now()
            known = _state(cron_id, text) or _unknown(now)
            return released(known, execution.execution_id, now, execution.turn).as_text(), None

        self._states.change(_KEY + cron_id, change)

    def end(
        self, cron_id: str, execution: Execution, fate: Fate = "completed", *, job_id: str = "", error: str = ""
    ) -> bool:
        """Note that an execution has ended. What has waited for that comes with the next ``poll``.

        Args:
            cron_id: The schedule.
            execution: The execution.
            fate, job_id, error: See ``Past``.

        Returns:
            Whether it still counted as under way, and was this process's.

        Raises:
            StoreError: The store cannot be used now.
        """

        def change(text: str | None) -> tuple[str, bool]:
            now = self._now()
            known = _state(cron_id, text) or _unknown(now)
            one, turn = execution.execution_id, execution.turn
            over = ended(known, one, now, fate, turn=turn, job_id=job_id, error=error)
            return over.as_text(), len(over.running) < len(known.running)

        return self._states.change(_KEY + cron_id, change)

    def known(self) -> "list[tuple[CronEntry, CronState | None, datetime | None]]":
        """The schedules, what is known of each, and when each comes next.

        Raises:
            StoreError: The store cannot be used now.
        """
        texts, now = self._states.read([_KEY + one for one in self._entries]), self._now()
        return [
            (
                entry,
                _state(entry.id, texts.get(_KEY + entry.id)),
                next(schedule.after(now), None) if entry.enabled else None,
            )
            for entry, schedule in self._entries.values()
        ]

    def wait_s(self) -> float:
        """Seconds until the next tick of any schedule; infinite if there is none."""
        now = self._now()
        ticks = [next(schedule.after(now), None) for entry, schedule in self._entries.values() if entry.enabled]
        return min(((tick - now).total_seconds() for tick in ticks if tick is not None), default=float("inf"))

    def _deciding(self, entry: CronEntry, schedule: Schedule) -> Callable[[str | None], tuple[str, Decided]]:
        def change(text: str | None) -> tuple[str, Decided]:
            known = _state(entry.id, text)
            decided = decide(entry, schedule, known, self._now(), self._lease, follows=self._follows)
            return decided.state.as_text(), decided

        return change

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _unknown(now: datetime) -> CronState:
    """The state of a schedule that somebody has deleted."""
    return CronState("", now)


def _state(cron_id: str, text: str | None) -> CronState | None:
    if text is None:
        return None
    try:
        return CronState.from_text(text)
    except ValueError as error:
        log.warning("spanhook: the state of the schedule %r cannot be read; it begins anew: %s", cron_id, error)
        return None
