"""What becomes of each tick: a pure function of what is known and of the time, for whoever holds the state.

A tick is run at most once. One that is not run is passed, for a reason.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from spanhook.schedules.entry import CronEntry
from spanhook.schedules.schedule import Schedule
from spanhook.schedules.state import MOST_RECENT, CronState, Fate, Past, Reason, Running

_OFF = " off"
MOST_MISSED = 100
"""The most missed ticks that are made up for, with ``missed: all``: the latest."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A tick that is to be run now, or whose run is to be followed.

    Attributes:
        execution_id: The id of this run, ``exec_...``.
        tick: The time that it is for.
        turn: How many processes have followed it so far.
    """

    execution_id: str
    tick: datetime
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Passed:
    """A tick that will not be run, or, if ``lost``, was not run to its end."""

    tick: datetime
    reason: Reason
    execution_id: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """What follows.

    Attributes:
        state: What is known from now on.
        run: What is to be run now.
        passed: What is not.
        followed: What another process has begun, and is to be followed to its end.
    """

    state: CronState
    run: tuple[Execution, ...] = ()
    passed: tuple[Passed, ...] = ()
    followed: tuple[Execution, ...] = ()


def decide(
    entry: CronEntry,
    schedule: Schedule,
    known: CronState | None,
    now: datetime,
    lease: timedelta,
    new_id: Callable[[], str] = lambda: f"exec_{uuid4().hex}",
    *,
    follows: bool = False,
) -> Decided:
    """Deal with the ticks that have come.

    Args:
        entry: The schedule's settings.
        schedule: Its ticks.
        known: Its state; ``None`` if there is none. Then, and after its expression or time zone has changed, or it was
            enabled, ticks count from now on.
        now: The time.
        lease: How long an execution counts as under way unless it is extended.
        new_id: Makes ids of executions.
        follows: Whether executions whose lease has ended are followed to their end, rather than lost.
    """
    rule = f"{schedule.expression} {schedule.time_zone}" + ("" if entry.enabled else _OFF)
    if known is None:
        return Decided(CronState(rule, now))
    alive, followed = _alive(known, now, now + lease if follows else None)
    kept = {one.execution_id for one in alive}
    passed = [Passed(one.tick, "lost", one.execution_id) for one in known.running if one.execution_id not in kept]
    if known.rule != rule or not entry.enabled:
        last = known.last if known.rule == rule else max(known.last, now)
        passed += _passed(known.waiting, "missed")
        state = CronState(rule, last, alive, (), _recent(known, passed, now))
        return Decided(state, (), tuple(passed), followed)
    due = schedule.due(known.last, now)
    late, in_time, missed = _sorted(entry, due, now)
    passed += _passed(missed, "missed")
    started, waiting, overlapping = _fitted(entry, (*known.waiting, *late), in_time, len(alive))
    passed += _passed(overlapping, "overlapping")
    run = tuple(Execution(new_id(), tick) for tick in started)
    running = (*alive, *(Running(one.execution_id, one.tick, now + lease) for one in run))
    last = due[-1] if due else known.last
    state = CronState(rule, last, running, tuple(waiting), _recent(known, passed, now))
    return Decided(state, run, tuple(passed), followed)


def ended(
    known: CronState,
    execution_id: str,
    now: datetime,
    fate: Fate = "completed",
    *,
    turn: int = 0,
    job_id: str = "",
    error: str = "",
) -> CronState:
    """The state once an execution has ended. One that was lost, or is followed by another process, is not touched.

    Args:
        known: The state before.
        execution_id: The execution.
        now: The time.
        fate, job_id, error: See ``Past``.
        turn: See ``Running``.
    """
    over = [one for one in known.running if (one.execution_id, one.turn) == (execution_id, turn)]
    past = [Past(one.tick, fate, now, execution_id, job_id, error) for one in over]
    running = tuple(one for one in known.running if one not in over)
    return replace(known, running=running, recent=(*known.recent, *past)[-MOST_RECENT:])


def extended(known: CronState, execution_id: str, until: datetime, turn: int = 0) -> CronState:
    """The state with a longer lease; unchanged if the execution is lost, or is followed by another process."""
    return _leased(known, execution_id, turn, lambda one: max(one.until, until))


def released(known: CronState, execution_id: str, now: datetime, turn: int = 0) -> CronState:
    """The state in which any process may follow an execution at once."""
    return _leased(known, execution_id, turn, lambda one: min(one.until, now))


def _leased(known: CronState, execution_id: str, turn: int, until: Callable[[Running], datetime]) -> CronState:
    running = (
        replace(one, until=until(one)) if (one.execution_id, one.turn) == (execution_id, turn) else one
        for one in known.running
    )
    return replace(known, running=tuple(running))


def _alive(
    known: CronState, now: datetime, until: datetime | None
) -> tuple[tuple[Running, ...], tuple[Execution, ...]]:
    """Executions under way, and those of them that are followed from now on, until a time; ``None`` for none."""
    if until is None:
        return tuple(one for one in known.running if one.until > now), ()
    alive = tuple(one if one.until > now else replace(one, until=until, turn=one.turn + 1) for one in known.running)
    followed = (Execution(one.execution_id, one.tick, one.turn) for one in alive if one not in known.running)
    return alive, tuple(followed)


def _sorted(
    entry: CronEntry, due: Sequence[datetime], now: datetime
) -> tuple[Sequence[datetime], Sequence[datetime], Sequence[datetime]]:
    """Ticks that were missed and are made up for, ticks that have come in time, and ticks that were missed for good."""
    grace = timedelta(seconds=entry.grace)
    late = [tick for tick in due if now - tick > grace]
    in_time = due[len(late) :]
    if entry.missed != "all" and entry.overlap != "allow":
        late, in_time = [*late, *in_time[:-1]], in_time[-1:]
    if entry.missed == "all":
        made_up = late[-MOST_MISSED:]
    else:
        made_up = late[-1:] if entry.missed == "latest" and not in_time else []
    return made_up, in_time, late[: len(late) - len(made_up)]


def _fitted(
    entry: CronEntry, queue: Sequence[datetime], in_time: Sequence[datetime], alive: int
) -> tuple[Sequence[datetime], Sequence[datetime], Sequence[datetime]]:
    """Those of the ticks that are run now, those that wait, and those that are not run because they overlap.

    Args:
        entry: The settings.
        queue: Ticks that wait already, or are made up for.
        in_time: Ticks that have come now.
        alive: How many executions are under way.
    """
    ticks = (*queue, *in_time)
    if entry.overlap == "allow":
        return ticks, (), ()
    now = ticks[:1] if not alive else ()
    rest = ticks[len(now) :]
    if entry.missed == "all" and (queue or entry.overlap == "wait"):
        most = MOST_MISSED
    else:
        most = 1 if entry.overlap == "wait" else 0
    cut = max(len(rest) - most, 0)
    return now, rest[cut:], rest[:cut]


def _passed(ticks: Iterable[datetime], reason: Reason) -> list[Passed]:
    return [Passed(tick, reason) for tick in ticks]


def _recent(known: CronState, passed: Sequence[Passed], now: datetime) -> tuple[Past, ...]:
    over = (Past(one.tick, one.reason, now, one.execution_id) for one in passed[-MOST_RECENT:])
    return (*known.recent, *over)[-MOST_RECENT:]
