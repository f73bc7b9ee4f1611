"""What becomes of each tick: missed ones, overlapping ones, and those of processes that have died."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanhook.schedules import CronEntry, CronState, Decided, decide, ended, extended
from spanhook.schedules.deciding import released

LEASE = timedelta(minutes=30)
NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)


class Clocked:
    """One schedule, every ten minutes, and the time that a test sets."""

    def __init__(self, **given: Any) -> None:
        self.set(**given)
        self.now, self.known = NOON, None
        self.ids = (f"exec_{number}" for number in count(1))
        self.at(0)

    def set(self, **given: Any) -> None:
        self.entry = CronEntry.model_validate(
            {"id": "news", "schedule": "*/10 * * * *", "agent": "reader", "grace": 60, **given}
        )

    known: CronState | None

    def at(self, minutes: float) -> tuple[list[str], list[str]]:
        """What is run and what is passed, so many minutes after noon."""
        now = NOON + timedelta(minutes=minutes)
        decided = decide(self.entry, self.entry.times(), self.known, now, LEASE, lambda: next(self.ids))
        self.known = CronState.from_text(decided.state.as_text())
        assert self.known == decided.state
        return [f"{one.tick:%H:%M}" for one in decided.run], [
            f"{one.tick:%H:%M} {one.reason}" for one in decided.passed
        ]

    def end(self, number: int) -> None:
        assert self.known is not None
        self.known = ended(self.known, f"exec_{number}", self.now)


def test_a_tick_is_run_once_when_it_has_come() -> None:
    cron = Clocked()
    assert cron.at(9.9) == ([], [])
    assert cron.at(10) == (["12:10"], [])
    cron.end(1)
    assert cron.at(10) == ([], [])
    assert cron.at(20.5) == (["12:20"], [])


def test_nothing_is_run_for_the_time_before_it_was_known() -> None:
    cron = Clocked(missed="all")
    assert cron.at(0) == ([], [])


@pytest.mark.parametrize(
    ("missed", "run", "passed"),
    [
        ("skip", [], ["12:10 missed", "12:20 missed", "12:30 missed"]),
        ("latest", ["12:30"], ["12:10 missed", "12:20 missed"]),
        ("all", ["12:10"], []),
    ],
)
def test_missed_ticks(missed: str, run: list[str], passed: list[str]) -> None:
    assert Clocked(missed=missed).at(35) == (run, passed)


def test_missed_ticks_are_made_up_for_one_after_the_other() -> None:
    cron = Clocked(missed="all")
    assert cron.at(35) == (["12:10"], [])
    assert cron.at(36) == ([], [])
    cron.end(1)
    assert cron.at(40) == (["12:20"], [])
    cron.end(2)
    assert cron.at(41) == (["12:30"], [])
    cron.end(3)
    assert cron.at(42) == (["12:40"], [])
    cron.end(4)
    assert cron.at(43) == ([], [])


def test_the_latest_is_not_made_up_for_if_another_has_come() -> None:
    assert Clocked(missed="latest").at(30.5) == (["12:30"], ["12:10 missed", "12:20 missed"])


@pytest.mark.parametrize(
    ("overlap", "at_20", "at_30", "after"),
    [
        ("skip", ([], ["12:20 overlapping"]), ([], ["12:30 overlapping"]), ([], [])),
        ("wait", ([], []), ([], ["12:20 overlapping"]), (["12:30"], [])),
        ("allow", (["12:20"], []), (["12:30"], []), ([], [])),
    ],
)
def test_overlapping_ticks(overlap: str, at_20: Any, at_30: Any, after: Any) -> None:
    cron = Clocked(overlap=overlap)
    assert cron.at(10) == (["12:10"], [])
    assert cron.at(20) == at_20
    assert cron.at(30) == at_30
    cron.end(1)
    assert cron.at(31) == after


def test_a_tick_whose_process_has_died_is_lost_and_not_run_again() -> None:
    cron = Clocked()
    cron.at(10)
    assert cron.at(40) == (["12:40"], ["12:10 lost", "12:20 missed", "12:30 missed"])
    cron.end(1)
    assert cron.at(45) == ([], [])


def test_a_run_whose_process_has_died_is_followed_and_still_under_way() -> None:
    cron = Clocked()
    cron.at(10)
    assert cron.known is not None
    now = NOON + timedelta(minutes=40)
    decided = decide(cron.entry, cron.entry.times(), cron.known, now, LEASE, follows=True)
    assert [(one.execution_id, one.turn) for one in decided.followed] == [("exec_1", 1)]
    assert decided.run == ()
    assert [one.reason for one in decided.passed] == ["missed", "missed", "overlapping"]
    again = CronState.from_text(decided.state.as_text())
    assert again == decided.state
    assert decide(cron.entry, cron.entry.times(), again, now, LEASE, follows=True).followed == ()
    assert extended(again, "exec_1", now + LEASE * 2) == again, "the process that began it has come too late"
    assert ended(again, "exec_1", now) == again
    assert released(again, "exec_1", now) == again
    assert ended(again, "exec_1", now, turn=1).running == ()
    free = released(again, "exec_1", now, 1)
    next_one = decide(cron.entry, cron.entry.times(), free, now, LEASE, follows=True)
    assert [(one.execution_id, one.turn) for one in next_one.followed] == [("exec_1", 2)]
    off = CronEntry.model_validate({**cron.entry.model_dump(), "enabled": False})
    assert len(decide(off, off.times(), free, now, LEASE, follows=True).followed) == 1


def test_a_lease_that_is_extended_lasts() -> None:
    cron = Clocked()
    cron.at(10)
    assert cron.known is not None
    cron.known = extended(cron.known, "exec_1", NOON + timedelta(hours=2))
    assert cron.at(50) == ([], ["12:20 missed", "12:30 missed", "12:40 missed", "12:50 overlapping"])
    assert extended(cron.known, "exec_9", NOON) == cron.known


def test_another_schedule_counts_from_then_on() -> None:
    cron = Clocked(missed="all")
    cron.at(10)
    cron.set(schedule="*/5 * * * *", missed="all")
    assert cron.at(31) == ([], [])
    assert cron.at(35) == ([], ["12:35 overlapping"]), "the run of the former schedule is under way"
    cron.end(1)
    assert cron.at(40) == (["12:40"], [])


def test_what_became_of_the_last_ticks_is_remembered() -> None:
    cron = Clocked()
    cron.at(10)
    cron.at(20)
    cron.end(1)
    cron.at(30)
    assert cron.known is not None
    assert [(f"{one.tick:%H:%M}", one.fate, one.execution_id) for one in cron.known.recent] == [
        ("12:20", "overlapping", ""),
        ("12:10", "completed", "exec_1"),
    ]
    for hours in range(2, 40):
        cron.at(60 * hours)
    assert len(cron.known.recent) == 20
    assert cron.known.recent[-1].fate == "missed"


def test_a_schedule_that_is_switched_off_and_on_again_makes_up_for_nothing() -> None:
    cron = Clocked(missed="all", overlap="wait")
    cron.at(10)
    cron.at(20)
    cron.set(enabled=False, missed="all")
    assert cron.at(25) == ([], ["12:20 missed"])
    assert cron.at(30) == ([], [])
    cron.set(missed="all")
    cron.end(1)
    assert cron.at(35) == ([], [])
    assert cron.at(40) == (["12:40"], [])


def test_a_clock_that_is_set_back_runs_nothing_twice() -> None:
    cron = Clocked(missed="all", overlap="allow")
    assert cron.at(30.5) == (["12:10", "12:20", "12:30"], [])
    assert cron.at(5) == ([], [])
    assert cron.at(30.5) == ([], [])
    assert cron.at(40) == (["12:40"], [])


def test_only_so_many_are_made_up_for() -> None:
    cron = Clocked(missed="all")
    run, passed = cron.at(60 * 24)
    assert (len(run), len(passed)) == (1, 144 - 101)
    assert cron.known is not None
    assert len(cron.known.waiting) == 100


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"rule": 1, "last": "x", "running": [], "waiting": []}'])
def test_a_state_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        CronState.from_text(text)


@settings(max_examples=100, deadline=None)
@given(
    missed=st.sampled_from(["skip", "latest", "all"]),
    overlap=st.sampled_from(["skip", "wait", "allow"]),
    steps=st.lists(
        st.tuples(st.floats(0.1, 100.0), st.booleans(), st.booleans()), min_size=1, max_size=30
    ),
)  # fmt: skip
def test_every_tick_is_run_or_passed_exactly_once(
    missed: str, overlap: str, steps: list[tuple[float, bool, bool]]
) -> None:
    """Whatever the policies, pauses, ends and deaths: none is forgotten, none runs twice, none overlaps unasked."""
    cron = Clocked(missed=missed, overlap=overlap)
    schedule, now = cron.entry.times(), NOON
    assert cron.known is not None
    known, run, passed = cron.known, list[datetime](), list[datetime]()
    for minutes, end, extend in steps:
        now += timedelta(minutes=minutes)
        for one in known.running:
            if end:
                known = ended(known, one.execution_id, now)
            elif extend:
                known = extended(known, one.execution_id, now + LEASE)
        decided: Decided = decide(cron.entry, schedule, known, now, LEASE)
        known = decided.state
        run += [one.tick for one in decided.run]
        passed += [one.tick for one in decided.passed if one.reason != "lost"]
        assert overlap == "allow" or len(known.running) <= 1
    dealt_with = sorted([*run, *passed, *known.waiting])
    assert dealt_with == schedule.due(NOON, now)
    assert overlap == "allow" or run == sorted(run)
