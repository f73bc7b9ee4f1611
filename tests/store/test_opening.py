"""What is opened at an address."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store import Amounts, Caps, Reservation, open_book


def test_the_book_of_one_address_is_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    assert open_book(url) is open_book(url)
    assert open_book("memory://") is open_book("memory://")
    assert open_book("memory://") is not open_book("memory://other")
    assert open_book("memory://", 5.0).ledger is open_book("memory://").ledger
    with pytest.raises(ConfigurationError, match=r"the folder .*missing' does not exist"):
        open_book(f"sqlite:///{tmp_path}/missing/ledger.db")
    assert open_book(url, expired="free").ledger is open_book(url).ledger


def test_expired_reservations_of_one_redis_may_count_or_be_free() -> None:
    pytest.importorskip("redis")
    url = "redis://127.0.0.1:1/7"
    assert open_book(url, 60.0) is open_book(url, 60.0, "count")
    assert open_book(url, 5.0).ledger is open_book(url).ledger
    assert open_book(url, 60.0, "free").ledger is not open_book(url).ledger


def test_a_file_system_without_locks_is_refused_when_a_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(ConfigurationError, match=r"has no locks: .*; put the SQLite file on a local disk"):
        open_book(f"sqlite:///{tmp_path}/ledger.db")


def test_a_folder_that_cannot_be_written_to_is_no_mistake_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = os.open

    def refused(path: str, flags: int, mode: int = 0o777) -> int:
        if "spanhook-process-" in path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return genuine(path, flags, mode)

    monkeypatch.setattr(os, "open", refused)
    book = open_book(f"sqlite:///{tmp_path}/ledger.db")
    with pytest.raises(StoreError, match=r"cannot be used: .*Permission denied"):
        Reservation(book, "a", None).reserve(Amounts(1), Caps(1))
