"""Texts that several threads and processes change: no change is lost."""

import threading
from pathlib import Path

import pytest

from spanhook.errors import StoreError
from spanhook.store import MemoryStates, PostgresStates, SQLiteStates, States


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> States:
    if request.param == "postgresql":
        return PostgresStates(request.getfixturevalue("postgres_url"))
    return MemoryStates() if request.param == "memory" else SQLiteStates(str(tmp_path / "states.db"))


def count(text: str | None) -> tuple[str, int]:
    number = int(text or 0) + 1
    return str(number), number


def test_a_change_gets_what_the_one_before_it_made(states: States) -> None:
    assert [states.change("a", count), states.change("b", count), states.change("a", count)] == [1, 1, 2]
    states.close()
    assert states.change("a", count) == 3
    states.close()


def test_a_change_that_fails_changes_nothing(states: States) -> None:
    states.change("a", count)
    with pytest.raises(ZeroDivisionError):
        states.change("a", lambda _: (str(1 // 0), None))
    assert states.change("a", count) == 2
    states.close()


def test_threads_lose_no_change(states: States) -> None:
    threads = [threading.Thread(target=lambda: [states.change("a", count) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states.change("a", count) == 201
    states.close()


def test_a_file_is_the_same_for_every_connection(tmp_path: Path) -> None:
    one, other = (SQLiteStates(str(tmp_path / "states.db")) for _ in range(2))
    assert (one.change("a", count), other.change("a", count), one.change("a", count)) == (1, 2, 3)
    one.close()
    other.close()


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="missing"):
        SQLiteStates(str(tmp_path / "missing" / "states.db")).change("a", count)
    (tmp_path / "text.db").write_text("this is no database, as it is far too long a text to be one" * 9)
    with pytest.raises(StoreError, match=r"text\.db"):
        SQLiteStates(str(tmp_path / "text.db")).change("a", count)
