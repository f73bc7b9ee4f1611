"""Opens what is kept at an address: requests for approval and reservations, the same object for the same address in one
process, and states.
"""

import atexit
import os
import threading
from contextlib import suppress

from spanhook.errors import ConfigurationError
from spanhook.store.addresses import parse_address
from spanhook.store.approvals import Approvals
from spanhook.store.books import LEASE_S, Book
from spanhook.store.ledger import Expired, Ledger
from spanhook.store.memory_approvals import MemoryApprovals
from spanhook.store.memory_ledger import MemoryLedger
from spanhook.store.states import MemoryStates, PostgresStates, SQLiteStates, States

_opened: dict[str, Approvals] = {}
_books: dict[tuple[str, float, Expired], Book] = {}
_opening = threading.Lock()


def open_approvals(url: str) -> Approvals:
    """The requests for approval at an address.

    Args:
        url: See ``parse_address``.

    Raises:
        ConfigurationError: The address cannot be used, or a package is missing.
    """
    address = parse_address(url)
    with _opening:
        known = _opened.get(address.url)
        if known is None:
            known = _opened[address.url] = _made(address.scheme, address.url, address.path)
        return known


def _made(scheme: str, url: str, path: str) -> Approvals:
    if scheme == "sqlite":
        from spanhook.store.sqlite_approvals import SQLiteApprovals

        if not os.path.isdir(os.path.dirname(path)):
            raise ConfigurationError(f"{url}: the folder {os.path.dirname(path)!r} does not exist; create it")
        return SQLiteApprovals(path)
    if scheme == "redis":
        from spanhook.store.redis_approvals import RedisApprovals

        return RedisApprovals(url)
    if scheme == "postgresql":
        from spanhook.store.postgres_approvals import PostgresApprovals

        return PostgresApprovals(url)
    return MemoryApprovals()


def open_book(url: str, lease_s: float = LEASE_S, expired: Expired = "count") -> Book:
    """The book of this process on the ledger at an address; the same one for the same address.

    Args:
        url: See ``parse_address``.
        lease_s: Seconds that a reservation outlives the process where that is told by a clock alone.
        expired: What becomes of it then.

    Raises:
        ConfigurationError: The address cannot be used, a package is missing, or the file system has no locks.
    """
    address = parse_address(url)
    with _opening:
        key = address.url, lease_s, expired
        known = _books.get(key)
        if known is None:
            known = _books[key] = Book(_ledger(address.scheme, address.url, address.path, expired), lease_s)
        return known


def _ledger(scheme: str, url: str, path: str, expired: Expired) -> Ledger:
    for (other, _, setting), book in _books.items():
        if other == url and (setting == expired or scheme != "redis"):
            return book.ledger
    if scheme == "sqlite":
        from spanhook.store._process_lock import ProcessLock
        from spanhook.store.sqlite_ledger import SQLiteLedger

        if not os.path.isdir(os.path.dirname(path)):
            raise ConfigurationError(f"{url}: the folder {os.path.dirname(path)!r} does not exist; create it")
        with suppress(OSError):  # a folder that cannot be written to may become so
            ProcessLock(path).check()
        return SQLiteLedger(path)
    if scheme == "redis":
        from spanhook.store.redis_ledger import RedisLedger

        return RedisLedger(url, expired)
    if scheme == "postgresql":
        raise ConfigurationError("budgets cannot be kept in PostgreSQL; write sqlite:///FILE, or redis://HOST")
    return MemoryLedger()


def open_states(url: str) -> States:
    """The states at an address.

    Args:
        url: ``memory://``, ``sqlite:///FILE`` or ``postgresql://...``.

    Raises:
        ConfigurationError: The address cannot be used for states, or a package is missing.
    """
    address = parse_address(url)
    if address.scheme == "postgresql":
        return PostgresStates(address.url)
    if address.scheme == "sqlite":
        if not os.path.isdir(os.path.dirname(address.path)):
            raise ConfigurationError(f"{url}: the folder {os.path.dirname(address.path)!r} does not exist; create it")
        return SQLiteStates(address.path)
    if address.scheme == "memory":
        return MemoryStates()
    raise ConfigurationError(f"{address.shown} cannot keep states; expected sqlite:///FILE or postgresql://...")


def _at_exit() -> None:
    """Settle what waits before the process ends, unless the store is away."""
    for book in list(_books.values()):
        if book.waiting:
            book.flush()


atexit.register(_at_exit)
