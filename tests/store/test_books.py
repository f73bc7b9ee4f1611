"""Reservations of a process: settled even if the store is away, given back if they are dropped."""

import gc
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store import Amounts, Book, Caps, MemoryLedger, Reservation, Standing, open_book
from spanhook.store.redis_ledger import RedisLedger
from spanhook.store.sqlite_ledger import SQLiteLedger
from tests.forking import children
from tests.redis_server import running_redis

CAPS = Caps(100)


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for what happens in the background."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def test_a_reservation_is_settled_once() -> None:
    book = Book(MemoryLedger())
    reservation = Reservation(book, "a", None)
    assert reservation.reserve(Amounts(60), CAPS).granted
    assert reservation.settle(Amounts(10)) == Standing(Amounts(10), Amounts())
    assert reservation.settle(Amounts(10)) is None
    assert book.ledger.standing("a") == Standing(Amounts(10), Amounts())


class Interrupted(MemoryLedger):
    """Ctrl-C arrives while the first settlement is made."""

    interrupts = 1

    def settle(self, account: str, reservation: str, amounts: Amounts, until: float | None) -> Standing:
        if self.interrupts:
            self.interrupts -= 1
            raise KeyboardInterrupt
        return super().settle(account, reservation, amounts, until)


def test_an_interrupted_settlement_is_made_up_for() -> None:
    book = Book(Interrupted())
    reservation = Reservation(book, "a", None)
    reservation.reserve(Amounts(60), CAPS)
    with pytest.raises(KeyboardInterrupt):
        reservation.settle(Amounts(50))
    assert book.flush()
    assert book.ledger.standing("a") == Standing(Amounts(50), Amounts())


def test_what_is_dropped_is_given_back(tmp_path: Path) -> None:
    for book in (Book(MemoryLedger()), Book(SQLiteLedger(str(tmp_path / "ledger.db")))):
        reservation = Reservation(book, "a", None)
        reservation.reserve(Amounts(60), CAPS)
        del reservation
        gc.collect()
        other = Reservation(book, "a", None)
        assert other.reserve(Amounts(100), CAPS).granted
        other.settle(Amounts())


def test_reservations_of_long_calls_are_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    book = Book(SQLiteLedger(path), lease_s=0.3)
    reservation = Reservation(book, "a", None)
    reservation.reserve(Amounts(60), CAPS)
    other = SQLiteLedger(path)
    for _ in range(10):
        time.sleep(0.1)  # the store's own clock
        assert other.standing("a") == Standing(Amounts(), Amounts(60))
    reservation.settle(Amounts(1))
    assert other.standing("a") == Standing(Amounts(1), Amounts())


def test_settlements_wait_for_a_store_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "spanhook")
    with running_redis() as server:
        book = Book(RedisLedger(server.url))
        reservations = [Reservation(book, "a", None) for _ in range(3)]
        for reservation in reservations:
            assert reservation.reserve(Amounts(30), CAPS).granted
        server.stop()
        for reservation in reservations:
            assert reservation.settle(Amounts(20)) is None
        assert book.waiting == 3
        with pytest.raises(StoreError, match="cannot be used"):
            Reservation(book, "a", None).reserve(Amounts(1), CAPS)
        server.start()
        until(lambda: book.waiting == 0)
        assert book.ledger.standing("a") == Standing(Amounts(60), Amounts())
        assert Reservation(book, "a", None).reserve(Amounts(41), CAPS).granted is False
        until(lambda: "can be used again" in caplog.text)
        book.ledger.close()
    warned = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warned) == 1
    assert "calls that have to reserve are refused until it is back" in warned[0]
    caplog.clear()


def test_a_store_that_hangs_is_left_alone_for_a_moment(caplog: pytest.LogCaptureFixture) -> None:
    with running_redis() as server:
        book = Book(RedisLedger(server.url))
        with server.hung():
            with pytest.raises(StoreError, match="TimeoutError"):
                Reservation(book, "a", None).reserve(Amounts(1), CAPS)
            with pytest.raises(StoreError, match="away less than a second ago"):
                Reservation(book, "a", None).reserve(Amounts(1), CAPS)

        def again() -> bool:
            try:
                return Reservation(book, "a", None).reserve(Amounts(1), CAPS).granted
            except StoreError:
                return False

        until(again)
        book.ledger.close()
    caplog.clear()


def test_a_forked_child_leaves_its_parents_reservations_alone(tmp_path: Path) -> None:
    book = Book(SQLiteLedger(str(tmp_path / "ledger.db")))
    reservation = Reservation(book, "a", None)
    reservation.reserve(Amounts(60), CAPS)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            assert reservation.settle(Amounts(1)) is None
            own = Reservation(book, "a", None)
            code = 0 if own.reserve(Amounts(40), CAPS) == Standing(Amounts(), Amounts(100)) else 2
            own.settle(Amounts(5))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert book.ledger.standing("a") == Standing(Amounts(5), Amounts(60))
    assert reservation.settle(Amounts(10)) == Standing(Amounts(15), Amounts())


KILLED = """
import sys, time
from spanhook.store import Amounts, Caps, Reservation, open_book

book = open_book(sys.argv[1], 1.0)
done = Reservation(book, "a", None)
done.reserve(Amounts(10), Caps(100))
done.settle(Amounts(7))
open_ = Reservation(book, "a", None)
open_.reserve(Amounts(60), Caps(100))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_process_that_is_killed_loses_nothing_and_its_reservation_comes_back(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db" if kind == "sqlite" else request.getfixturevalue("redis_url")
    with children.Piped("-c", KILLED, url) as child:
        assert child.stdout.readline() == "ready\n"
        ledger = open_book(url).ledger
        assert ledger.standing("a") == Standing(Amounts(7), Amounts(60))
        child.kill()
        child.wait()
    until(lambda: ledger.standing("a")[:2] == (Amounts(7), Amounts()))


LEAVING = """
import sys
from spanhook.store import Amounts, Caps, Reservation, open_book
from spanhook.store.books import Settlement

book = open_book(sys.argv[1], 60.0)
reservation = Reservation(book, "a", None)
reservation.reserve(Amounts(10), Caps(100))
book._waiting.append(Settlement("a", reservation.id, Amounts(9), None))
"""


def test_what_waits_is_settled_when_the_process_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    children.run("-c", LEAVING, url, check=True)
    assert open_book(url).ledger.standing("a").spent == Amounts(9)


def test_the_book_of_one_address_is_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    assert open_book(url) is open_book(url)
    assert open_book("memory://") is open_book("memory://")
    assert open_book("memory://") is not open_book("memory://other")
    assert open_book("memory://", 5.0).ledger is open_book("memory://").ledger
    with pytest.raises(ConfigurationError, match="there is no folder"):
        open_book(f"sqlite:///{tmp_path}/missing/ledger.db")
