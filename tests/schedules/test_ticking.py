"""Processes that share a store: each tick goes to one of them, once."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from spanhook import ConfigurationError
from spanhook.errors import StoreError
from spanhook.schedules import CronEntry, Execution, Ticker
from spanhook.store import MemoryStates, PostgresStates, SQLiteStates, States
from tests.forking import children

TICK = datetime(2026, 1, 30, 9, tzinfo=UTC)
T = TypeVar("T")
Change = Callable[[str | None], tuple[str, T]]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> States:
    if request.param == "postgresql":
        return PostgresStates(request.getfixturevalue("postgres_url"))
    return MemoryStates() if request.param == "memory" else SQLiteStates(str(tmp_path / "states.db"))


def entry(**given: Any) -> CronEntry:
    return CronEntry.model_validate({"id": "news", "schedule": "* * * * *", "agent": "reader", **given})


class Clock:
    """Seconds since the epoch, set by a test."""

    now = 1_000_000_020.0  # at a full minute

    def __call__(self) -> float:
        return self.now


def run_ids(ticker: Ticker) -> list[str]:
    return [one.execution_id for _, decided in ticker.poll() for one in decided.run]


def test_a_tick_goes_to_whoever_asks_first(states: States) -> None:
    clock = Clock()
    one, other = (Ticker([entry()], states, clock=clock) for _ in range(2))
    assert (one.poll(), other.poll()) == ([], [])
    clock.now += 60
    (execution,) = run_ids(one)
    assert run_ids(other) == []
    other.end("news", Execution(execution, TICK))
    clock.now += 60
    assert len(run_ids(other)) == 1
    assert run_ids(one) == []
    states.close()


def test_an_execution_counts_as_under_way_while_its_lease_is_extended(states: States) -> None:
    clock = Clock()
    one, other = (Ticker([entry()], states, lease=90, clock=clock) for _ in range(2))
    one.poll()
    clock.now += 60
    (execution,) = run_ids(one)
    for _ in range(5):
        clock.now += 60
        assert one.extend("news", Execution(execution, TICK))
        ((_, decided),) = other.poll()
        assert (decided.run, [passed.reason for passed in decided.passed]) == ((), ["overlapping"])
    clock.now += 120
    ((_, decided),) = other.poll()
    assert [passed.reason for passed in decided.passed] == ["lost", "missed"]
    assert len(decided.run) == 1
    assert not one.extend("news", Execution(execution, TICK)), "it has been given up"
    one.end("news", Execution(execution, TICK))
    states.close()


class Changing(MemoryStates):
    """Notes which states were changed."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: list[str] = []

    def change(self, key: str, change: "Change[T]") -> T:
        self.changed.append(key)
        return super().change(key, change)


def test_a_state_is_changed_only_if_there_is_something_new() -> None:
    clock, states = Clock(), Changing()
    ticker = Ticker(
        [entry(), entry(id="off", enabled=False), entry(id="hourly", schedule="0 * * * *")], states, clock=clock
    )
    ticker.poll()
    assert states.changed == ["cron:news", "cron:off", "cron:hourly"]
    states.changed.clear()
    for _ in range(3):
        clock.now += 10
        assert ticker.poll() == []
    assert states.changed == []
    clock.now += 30
    assert len(run_ids(ticker)) == 1
    assert states.changed == ["cron:news"]


def test_it_says_how_long_to_wait() -> None:
    clock = Clock()
    clock.now += 15
    several = [entry(), entry(id="off", enabled=False), entry(id="hourly", schedule="0 * * * *")]
    assert Ticker(several, MemoryStates(), clock=clock).wait_s() == 45
    assert Ticker([], MemoryStates(), clock=clock).wait_s() == float("inf")


def test_two_entries_of_one_id_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'news'"):
        Ticker([entry(), entry()], MemoryStates())


def test_a_state_that_cannot_be_read_begins_anew(states: States, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    ticker = Ticker([entry()], states, clock=clock)
    states.change("cron:news", lambda _: ("nonsense", None))
    assert ticker.poll() == []
    assert "'news'" in caplog.text
    clock.now += 60
    assert len(run_ids(ticker)) == 1
    states.close()


def test_a_store_that_fails_loses_no_tick(tmp_path: Path) -> None:
    clock = Clock()
    states = SQLiteStates(str(tmp_path / "gone" / "states.db"))
    ticker = Ticker([entry()], states, clock=clock)
    with pytest.raises(StoreError):
        ticker.poll()
    (tmp_path / "gone").mkdir()
    ticker.poll()
    clock.now += 60
    assert len(run_ids(ticker)) == 1
    states.close()


PROGRAM = """if True:
    import sys
    from spanhook.schedules import CronEntry, Ticker
    from spanhook.store import PostgresStates, SQLiteStates
    cron = CronEntry(id="news", schedule="* * * * *", agent="reader", missed="all", overlap="allow")
    now = 1_000_000_020.0
    states = (PostgresStates if sys.argv[1].startswith("postgresql:") else SQLiteStates)(sys.argv[1])
    ticker = Ticker([cron], states, lease=1_000_000, clock=lambda: now)
    for _ in range(50):
        now += 60
        for _, decided in ticker.poll():
            assert not decided.passed, decided
            for one in decided.run:
                print(int(one.tick.timestamp()))
                ticker.end("news", one)
    states.close()
"""


@pytest.mark.one_value
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_processes_run_each_tick_once(tmp_path: Path, request: pytest.FixtureRequest, kind: str) -> None:
    path = request.getfixturevalue("postgres_url") if kind == "postgresql" else str(tmp_path / "states.db")
    states = PostgresStates(path) if kind == "postgresql" else SQLiteStates(path)
    Ticker([entry()], states, clock=Clock()).poll()
    states.close()
    started = [children.Piped("-W", "error", "-c", PROGRAM, path) for _ in range(3)]
    told = [one.communicate() for one in started]
    assert [one.wait() for one in started] == [0, 0, 0]
    ticks = Counter(int(line) for text in told for line in text.splitlines())
    assert ticks == Counter(1_000_000_020 + 60 * (number + 1) for number in range(50))
