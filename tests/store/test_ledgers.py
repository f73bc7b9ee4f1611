"""What every ledger promises, in memory, in an SQLite file and on a Redis server."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanhook.errors import StoreError
from spanhook.store import Amounts, Caps, Ledger, MemoryLedger, Standing
from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.redis_ledger import RedisLedger
from spanhook.store.sqlite_ledger import SQLiteLedger
from tests.forking import children

NONE = Amounts()
ODD = "budget:a b:{x}}:é:\n:%41"


@pytest.fixture(params=["memory", "sqlite", "redis"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made: Ledger
    if request.param == "memory":
        made = MemoryLedger()
    elif request.param == "sqlite":
        made = SQLiteLedger(str(tmp_path / "ledger.db"))
    else:
        made = RedisLedger(request.getfixturevalue("redis_url"))
    yield made
    made.close()


def tokens(standing: Standing) -> tuple[int, int, bool]:
    """Spent and reserved tokens, and whether the reservation was made."""
    return standing.spent.tokens, standing.reserved.tokens, standing.granted


def test_what_is_reserved_and_spent_stays_within_the_caps(ledger: Ledger) -> None:
    caps = Caps(100, None)
    assert tokens(ledger.reserve("a", "1", Amounts(60), caps, 60, None)) == (0, 60, True)
    assert tokens(ledger.reserve("a", "2", Amounts(41), caps, 60, None)) == (0, 60, False)
    assert tokens(ledger.reserve("a", "2", Amounts(40), caps, 60, None)) == (0, 100, True)
    assert tokens(ledger.settle("a", "1", Amounts(10), None)) == (10, 40, True)
    assert tokens(ledger.reserve("a", "3", Amounts(50), caps, 60, None)) == (10, 90, True)
    assert tokens(ledger.settle("a", "2", NONE, None)) == (10, 50, True)
    assert tokens(ledger.standing("a")) == (10, 50, True)
    assert ledger.standing("b") == Standing()


def test_both_caps_hold(ledger: Ledger) -> None:
    caps = Caps(100, 1_000)
    assert not ledger.reserve("a", "1", Amounts(1, 1_001), caps, 60, None).granted
    assert not ledger.reserve("a", "1", Amounts(101, 1), caps, 60, None).granted
    assert ledger.reserve("a", "1", Amounts(100, 1_000), caps, 60, None).granted


def test_a_reservation_is_replaced_by_another_of_the_same_id(ledger: Ledger) -> None:
    caps = Caps(100, None)
    ledger.reserve("a", "1", Amounts(60), caps, 60, None)
    assert tokens(ledger.reserve("a", "1", Amounts(100), caps, 60, None)) == (0, 100, True)
    assert tokens(ledger.reserve("a", "1", Amounts(101), caps, 60, None)) == (0, 100, False)
    assert tokens(ledger.reserve("a", "1", Amounts(5), caps, 60, None)) == (0, 5, True)


def test_settling_again_changes_nothing(ledger: Ledger) -> None:
    ledger.reserve("a", "1", Amounts(60), Caps(100), 60, None)
    assert tokens(ledger.settle("a", "1", Amounts(70), None)) == (70, 0, True)
    for amount in (70, 80, 0):
        assert tokens(ledger.settle("a", "1", Amounts(amount), None, again=True)) == (70, 0, True)


def test_a_settlement_that_did_not_arrive_is_made_by_the_next(ledger: Ledger) -> None:
    ledger.reserve("a", "1", Amounts(60), Caps(100), 60, None)
    assert tokens(ledger.settle("a", "1", Amounts(70), None, again=True)) == (70, 0, True)


def test_a_settlement_that_is_repeated_is_made_where_a_store_has_lost_everything(ledger: Ledger) -> None:
    assert tokens(ledger.settle("a", "1", Amounts(70), None, again=True)) == (70, 0, True)
    assert tokens(ledger.settle("a", "1", Amounts(70), None, again=True)) == (70, 0, True)


def test_what_could_not_be_reserved_is_counted_once(ledger: Ledger) -> None:
    assert not ledger.reserve("a", "1", Amounts(101), Caps(100), 60, None).granted
    assert tokens(ledger.settle("a", "1", Amounts(101), None)) == (101, 0, True)
    assert tokens(ledger.settle("a", "1", Amounts(101), None, again=True)) == (101, 0, True)


def test_settling_again_changes_nothing_however_late(tmp_path: Path) -> None:
    now = [1_000_000.0]

    def clock() -> float:
        return now[0]

    for ledger in (MemoryLedger(clock), SQLiteLedger(str(tmp_path / "ledger.db"), clock)):
        ledger.reserve("a", f"{ledger.shown}-1", Amounts(60), Caps(100), 60, None)
        ledger.settle("a", f"{ledger.shown}-1", Amounts(70), None)
        now[0] += 400 * 86_400.0
        ledger.reserve("a", f"{ledger.shown}-2", Amounts(1), Caps(100), 60, None)
        assert ledger.settle("a", f"{ledger.shown}-1", Amounts(70), None, again=True).spent == Amounts(70)


def test_no_clock_frees_a_reservation_of_a_process_that_lives(tmp_path: Path) -> None:
    now = [1_000_000.0]

    def clock() -> float:
        return now[0]

    for ledger in (MemoryLedger(clock), SQLiteLedger(str(tmp_path / "ledger.db"), clock)):
        now[0] = 1_000_000.0
        ledger.reserve("a", f"{ledger.shown}-1", Amounts(60), Caps(100), 0.01, None)
        for step in (61.0, -10 * 86_400.0, 400 * 86_400.0):
            now[0] += step
            assert not ledger.reserve("a", f"{ledger.shown}-2", Amounts(41), Caps(100), 0.01, None).granted
        assert ledger.standing("a") == Standing(NONE, Amounts(60))
        assert tokens(ledger.settle("a", f"{ledger.shown}-1", Amounts(50), None)) == (50, 0, True)


def test_a_reservation_is_settled_after_its_account_could_be_forgotten(tmp_path: Path) -> None:
    """A machine that sleeps through the period's end, and the day after it."""
    now = [1_000_000.0]

    def clock() -> float:
        return now[0]

    path = str(tmp_path / "ledger.db")
    ledger, other = SQLiteLedger(path, clock), SQLiteLedger(path, clock)
    ledger.reserve("day", "1", Amounts(60), Caps(100), 60, now[0] + 3_600)
    now[0] += 10 * 86_400
    other.reserve("next", "2", Amounts(1), Caps(100), 60, None)
    assert other.standing("day") == Standing(NONE, Amounts(60))
    ledger.settle("day", "1", Amounts(50), 1_003_600.0)
    assert other.standing("day") == Standing(Amounts(50), NONE)
    now[0] += 3_601
    other.reserve("next", "3", Amounts(1), Caps(100), 60, None)
    assert other.standing("day") == Standing()


def test_an_account_of_a_process_that_has_ended_is_forgotten_once_its_time_is_over(tmp_path: Path) -> None:
    now = [1_000_000.0]
    path = str(tmp_path / "ledger.db")
    ended, other = SQLiteLedger(path, lambda: now[0]), SQLiteLedger(path, lambda: now[0])
    ended.reserve("run", "1", Amounts(60), Caps(100), 60, now[0] + 60)
    ended._lock.renew()
    now[0] += 2 * 86_400
    other.reserve("next", "2", Amounts(1), Caps(100), 60, None)
    with other._file.transaction() as connection:
        assert connection.execute("SELECT name FROM spanhook_accounts").fetchall() == [("next",)]
        assert connection.execute("SELECT id FROM spanhook_reservations").fetchall() == [("2",)]
    assert len(list(tmp_path.glob("spanhook-process-*"))) == 1


def test_a_process_whose_file_was_deleted_makes_it_again_as_it_renews(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger, other = SQLiteLedger(path), SQLiteLedger(path)
    ledger.reserve("a", "1", Amounts(60), Caps(100), 60, None)
    for file in tmp_path.glob("spanhook-process-*"):
        file.unlink()
    ledger.extend("a", "1", 60)
    assert other.standing("a") == Standing(NONE, Amounts(60))


def test_a_process_whose_file_was_deleted_settles_what_others_have_freed(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger, other = SQLiteLedger(path), SQLiteLedger(path)
    ledger.reserve("a", "1", Amounts(60), Caps(100), 60, None)
    for file in tmp_path.glob("spanhook-process-*"):
        file.unlink()
    assert tokens(other.reserve("a", "2", Amounts(100), Caps(100), 60, None)) == (0, 100, True)
    for _ in range(2):
        assert tokens(ledger.settle("a", "1", Amounts(50), None, again=True)) == (50, 100, True)


@pytest.fixture
def counting(redis_url: str) -> Iterator[RedisLedger]:
    made = RedisLedger(redis_url)
    yield made
    made.close()


@pytest.fixture
def freeing(redis_url: str) -> Iterator[RedisLedger]:
    made = RedisLedger(redis_url, "free")
    yield made
    made.close()


@pytest.mark.parametrize("actual", [0, 20, 60, 80])
def test_what_expires_on_redis_counts_as_spent_until_it_is_settled(
    counting: RedisLedger, actual: int, caplog: pytest.LogCaptureFixture
) -> None:
    caps = Caps(100)
    counting.reserve("a", "2", Amounts(1), caps, 60, None)
    counting.reserve("a", "1", Amounts(60, 6), caps, 0.02, None)
    time.sleep(0.05)  # the server's own clock
    assert counting.standing("a") == Standing(Amounts(60, 6), Amounts(1), 1)
    assert "1 reservations were not renewed in time; they count as spent until" in caplog.text
    assert not counting.reserve("a", "3", Amounts(40), caps, 60, None).granted
    assert tokens(counting.reserve("a", "3", Amounts(39), caps, 60, None)) == (60, 40, True)
    counting.extend("a", "1", 60)
    assert counting.standing("a") == Standing(Amounts(60, 6), Amounts(40))
    assert counting.settle("a", "1", Amounts(actual, 7), None) == Standing(Amounts(actual, 7), Amounts(40))
    assert counting.settle("a", "1", Amounts(99), None, again=True) == Standing(Amounts(actual, 7), Amounts(40))


def test_what_has_expired_on_redis_may_be_reserved_again_by_its_process(counting: RedisLedger) -> None:
    counting.reserve("a", "1", Amounts(60), Caps(100), 0.02, None)
    time.sleep(0.05)  # the server's own clock
    assert counting.standing("a").spent == Amounts(60)
    assert tokens(counting.reserve("a", "1", Amounts(101), Caps(100), 60, None)) == (60, 0, False)
    assert tokens(counting.reserve("a", "1", Amounts(100), Caps(100), 60, None)) == (0, 100, True)
    assert tokens(counting.settle("a", "1", Amounts(30), None)) == (30, 0, True)


def test_a_lease_that_is_over_and_that_nobody_has_seen_is_settled_as_any_other(counting: RedisLedger) -> None:
    counting.reserve("a", "1", Amounts(60), Caps(100), 0.02, None)
    time.sleep(0.05)  # the server's own clock
    assert counting.settle("a", "1", Amounts(10), None) == Standing(Amounts(10))


def test_what_counts_as_spent_is_forgotten_with_its_account(counting: RedisLedger) -> None:
    until = time.time() - 86_400 + 2  # forgotten in two seconds
    counting.reserve("day", "1", Amounts(60), Caps(100), 0.02, until)
    time.sleep(0.05)  # the server's own clock
    assert counting.standing("day") == Standing(Amounts(60), NONE, 1)
    ends = time.monotonic() + 60
    while counting._server.use(lambda client: client.keys("spanhook:{day}*")):
        assert time.monotonic() < ends
        time.sleep(0.05)
    assert counting.settle("day", "1", Amounts(50), None) == Standing(Amounts(50))


def test_what_expires_on_redis_may_be_free_instead(freeing: RedisLedger) -> None:
    freeing.reserve("a", "2", Amounts(1), Caps(100), 60, None)
    freeing.reserve("a", "1", Amounts(60), Caps(100), 0.02, None)
    time.sleep(0.05)  # the server's own clock
    assert freeing.standing("a") == Standing(NONE, Amounts(1), 1)
    assert tokens(freeing.reserve("a", "3", Amounts(99), Caps(100), 60, None)) == (0, 100, True)
    for _ in range(2):  # its first settlement may have been lost while it was cut off
        assert tokens(freeing.settle("a", "1", Amounts(60), None, again=True)) == (60, 100, True)


def test_a_file_of_an_earlier_version_keeps_what_was_spent(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    SQLiteLedger(path).settle("a", "1", Amounts(10, 20), None)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE spanhook_reservations DROP COLUMN process")
        connection.execute("ALTER TABLE spanhook_reservations RENAME COLUMN freed TO settled")
        connection.execute("UPDATE spanhook_schema SET version = 1")
        for row in ("'1', 'a', 10, 20, 9e9, 1", "'2', 'a', 5, 5, 9e9, 0"):
            connection.execute(f"INSERT INTO spanhook_reservations VALUES ({row})")
    connection.close()
    ledger = SQLiteLedger(path)
    assert ledger.standing("a") == Standing(Amounts(10, 20))
    assert ledger.settle("a", "1", Amounts(99), None, again=True).spent == Amounts(10, 20)
    assert ledger.reserve("a", "3", Amounts(1), Caps(100), 60, None).granted


def test_a_reservation_that_is_extended_does_not_expire(ledger: Ledger) -> None:
    ledger.reserve("a", "1", Amounts(60), Caps(100), 0.5, None)
    ledger.extend("a", "1", 60)
    ledger.extend("a", "unknown", 60)
    time.sleep(0.6)  # the stores' own clocks
    assert ledger.standing("a") == Standing(NONE, Amounts(60), 0)


def test_names_and_amounts_may_be_odd(ledger: Ledger) -> None:
    most = Amounts(2**53 - 1, 2**53 - 1)
    assert ledger.reserve(ODD, "1", most, Caps(*most), 60, None).granted
    assert ledger.settle(ODD, "1", most, None).spent == most
    assert not ledger.reserve(ODD, "2", Amounts(1), Caps(*most), 60, None).granted
    assert ledger.standing("budget:a b:{x}") == Standing()


def test_threads_never_reserve_too_much(ledger: Ledger) -> None:
    caps, granted = Caps(1_000), list[str]()

    def spend(number: int) -> None:
        if ledger.reserve("a", str(number), Amounts(30), caps, 60, None).granted:
            granted.append(str(number))
            ledger.settle("a", str(number), Amounts(25), None)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(spend, range(100)))
    standing = ledger.standing("a")
    assert standing == Standing(Amounts(25 * len(granted)), NONE)
    assert len(granted) == 1 + (1_000 - 30) // 25


class Model:
    """The simplest ledger."""

    def __init__(self) -> None:
        self.spent, self.held, self.is_new = 0, dict[str, int](), True

    def reserve(self, key: str, amount: int, cap: int) -> bool:
        others = sum(held for one, held in self.held.items() if one != key)
        granted = self.spent + others + amount <= cap
        if granted:
            self.held[key] = amount
        self.is_new = self.is_new and not granted
        return granted

    def settle(self, key: str, amount: int, *, again: bool) -> None:
        if self.held.pop(key, None) is not None or not again or self.is_new:
            self.spent += amount
        self.is_new = False


STEPS = st.lists(
    st.tuples(st.sampled_from(["reserve", "settle", "settle again"]), st.sampled_from("abcd"), st.integers(0, 60)),
    max_size=30,
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=STEPS)
def test_every_ledger_does_what_the_simplest_does(ledger: Ledger, steps: list[tuple[str, str, int]]) -> None:
    account, model = os.urandom(8).hex(), Model()
    for what, key, amount in steps:
        reservation = f"{account}-{key}"
        if what == "reserve":
            standing = ledger.reserve(account, reservation, Amounts(amount), Caps(100), 60, None)
            assert standing.granted == model.reserve(reservation, amount, 100)
        else:
            again = what == "settle again"
            standing = ledger.settle(account, reservation, Amounts(amount), None, again=again)
            model.settle(reservation, amount, again=again)
        assert (standing.spent.tokens, standing.reserved.tokens) == (model.spent, sum(model.held.values()))


SPENDING = """
import os, sys, random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from spanhook.store import Amounts, Caps
from spanhook.store.sqlite_ledger import SQLiteLedger
from spanhook.store.redis_ledger import RedisLedger

url = sys.argv[1]
ledger = RedisLedger(url) if url.startswith("redis") else SQLiteLedger(url)
spent = 0

def spend(number):
    global spent
    reservation = f"{os.getpid()}-{number}"
    standing = ledger.reserve("a", reservation, Amounts(10, 7), Caps(1_500, 10_000), 60, None)
    assert standing.spent.tokens + standing.reserved.tokens <= 1_500, standing
    if not standing.granted:
        return 0
    used = random.randint(0, 10)
    ledger.settle("a", reservation, Amounts(used, used), None)
    return used

with ThreadPoolExecutor(16) as pool:
    print(sum(pool.map(spend, range(100))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_64_callers_in_4_processes_never_spend_too_much(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(tmp_path / "ledger.db") if kind == "sqlite" else request.getfixturevalue("redis_url")
    started = [children.Piped("-c", SPENDING, url) for _ in range(4)]
    said = [child.communicate() for child in started]
    assert [child.wait() for child in started] == [0] * 4
    ledger: Ledger = SQLiteLedger(url) if kind == "sqlite" else RedisLedger(url)
    total = sum(int(one) for one in said)
    standing = ledger.standing("a")
    ledger.close()
    assert standing == Standing(Amounts(total, total), NONE)
    assert 1_400 < total <= 1_500


def test_a_new_file_that_another_process_prepares_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked"):
        SQLiteFile(path, "test", 1, (), busy_s=0.1).transaction().__enter__()
    release = threading.Timer(0.1, other.execute, ["COMMIT"])
    release.start()
    SQLiteLedger(path).settle("a", "1", Amounts(10), None)
    release.join()
    other.close()
    assert SQLiteLedger(path).standing("a").spent == Amounts(10)


def test_a_forked_child_uses_connections_of_its_own(ledger: Ledger) -> None:
    ledger.reserve("a", "1", Amounts(10), Caps(100), 60, None)
    ledger.settle("a", "1", Amounts(10), None)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            standing = ledger.reserve("a", "2", Amounts(20), Caps(100), 60, None)
            code = 0 if tokens(standing) == (10, 20, True) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert tokens(ledger.settle("a", "3", Amounts(5), None)) == (15, 20 if ledger.remote else 0, True)


def test_what_was_spent_in_a_file_outlives_its_process(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    SQLiteLedger(path).settle("a", "1", Amounts(10, 20), None)
    assert SQLiteLedger(path).standing("a").spent == Amounts(10, 20)


def test_accounts_whose_time_is_over_are_forgotten(tmp_path: Path) -> None:
    now = [1_000.0]

    def clock() -> float:
        return now[0]

    for ledger in (MemoryLedger(clock), SQLiteLedger(str(tmp_path / "ledger.db"), clock)):
        now[0] = 1_000.0
        ledger.settle("a", "1", Amounts(10), 2_000.0)
        ledger.settle("b", "2", Amounts(10), None)
        now[0] = 100_000.0
        for number in range(3):
            ledger.reserve("c", f"{ledger.shown}-{number}", Amounts(1), Caps(), 60, None)
        assert ledger.standing("a") == Standing()
        assert ledger.standing("b").spent == Amounts(10)


def test_memory_holds_a_bounded_number_of_accounts_that_may_be_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.store.memory_ledger.MOST_ACCOUNTS", 50)
    ledger = MemoryLedger()
    ledger.settle("kept", "kept", Amounts(1), None)
    for number in range(500):
        ledger.settle(f"run-{number}", str(number), Amounts(1), time.time() + 3_600)
    assert len(ledger._accounts) <= 52
    assert ledger.standing("kept").spent == Amounts(1)
    assert ledger.standing("run-499").spent == Amounts(1)


def test_a_file_that_cannot_be_used_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("this is no database, but a text that is long enough to be read as one" * 20)
    ledger = SQLiteLedger(str(tmp_path / "ledger.db"))
    with pytest.raises(StoreError, match="cannot be used: file is not a database"):
        ledger.standing("a")
    (tmp_path / "ledger.db").unlink()
    assert ledger.standing("a") == Standing()


def test_a_redis_that_is_away_is_a_clear_error_without_its_password() -> None:
    ledger = RedisLedger("redis://:secret@127.0.0.1:1/0")
    with pytest.raises(StoreError, match=r"redis://127.0.0.1:1/0 cannot be used: ConnectionError") as caught:
        ledger.standing("a")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    ledger.close()


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "deleted"])
def test_a_file_that_is_no_longer_there_is_not_counted_in(
    tmp_path: Path, replaced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = SQLiteLedger(str(tmp_path / "a.db")), SQLiteLedger(str(tmp_path / "b.db"))
    here.reserve("acme", "1", Amounts(60), Caps(100), 60.0, None)
    for name in ("a.db", "a.db-wal", "a.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    if replaced:
        there.reserve("acme", "2", Amounts(70), Caps(100), 60.0, None)
        there._file.close()
        (tmp_path / "b.db").rename(tmp_path / "a.db")
    assert here.standing("acme").reserved.tokens == (70 if replaced else 0)
    assert SQLiteLedger(str(tmp_path / "a.db")).standing("acme").reserved.tokens == (70 if replaced else 0)
    assert "was replaced or deleted; it is opened anew" in caplog.text


def test_a_busy_file_is_waited_for(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger, other = SQLiteLedger(path), SQLiteLedger(path)
    ledger.standing("a")
    entered, may_leave = threading.Event(), threading.Event()

    def hold() -> None:
        with other._file.transaction():
            entered.set()
            may_leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(60)
    threading.Timer(0.05, may_leave.set).start()
    assert ledger.settle("a", "1", Amounts(1), None).spent == Amounts(1)
    thread.join()
