"""One SQLite file with tables of one purpose, shared by threads and processes."""

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from operator import methodcaller

from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError, StoreError
from spanhook.fork import Lock, held_for_fork
from spanhook.store._renewal import renewed

_VERSIONS = "CREATE TABLE IF NOT EXISTS spanhook_schema (name TEXT PRIMARY KEY, version INTEGER NOT NULL)"

#: Connections of a parent process, kept until the end: closing them here could disturb the parent.
_inherited: list[sqlite3.Connection | None] = []
_files: "weakref.WeakSet[SQLiteFile]" = weakref.WeakSet()
_LONGEST_HOLD_S = 5.0
_PAUSE_S = 0.02


def write_ahead(connection: sqlite3.Connection, wait_s: float) -> None:
    """Let a file's writers and readers work at once, which the file remembers.

    SQLite refuses at once, busy timeout or not, while another process is about to write; of four processes that open a
    new file at the same time, one in twenty was refused.

    Args:
        connection: A connection to the file.
        wait_s: How long to wait for other processes.

    Raises:
        sqlite3.OperationalError: They did not let go of the file in that time.
    """
    ends = time.monotonic() + wait_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                raise
        time.sleep(_PAUSE_S)


class SQLiteFile:
    """A connection to a file, opened when first used and again after a fork.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
        name: What its tables are for, such as ``ledger``.
        version: The version of the tables.
        schema: The statements that create them.
        busy_s: How long to wait for other processes.
        durable: Whether what is committed outlives a loss of power, at the cost of a wait for the disk at each commit.
        upgrades: The statements that bring the tables of each earlier version to the next one.
    """

    def __init__(
        self,
        path: str,
        name: str,
        version: int,
        schema: Sequence[str],
        busy_s: float = 5.0,
        *,
        durable: bool = False,
        upgrades: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self._connection: sqlite3.Connection | None = None
        self.path = os.path.abspath(path)
        self._name, self._version, self._schema, self._busy_s = name, version, schema, busy_s
        self._upgrades = upgrades or {}
        self._synchronous = "FULL" if durable else "NORMAL"
        self._lock = threading.RLock()
        self._opened: tuple[int, int] | None = None
        renewed.add(self)
        _files.add(self)

    def renew(self) -> None:
        """Leave the parent's connection alone."""
        self._lock = threading.RLock()
        _inherited.append(self._connection)
        self._connection = None

    def __del__(self) -> None:
        """Close the connection of a store that nobody closed; without this, CPython 3.13 warns of it."""
        connection = self._connection
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            self._discard()

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """A transaction that writes: all of it happens, or nothing.

        Raises:
            ConfigurationError: The tables were written by a newer spanhook.
            StoreError: The file cannot be used now.
        """
        with self._lock:
            try:
                if self._connection is not None and self._identity() != self._opened:
                    log.warning("spanhook: SQLite file %r was replaced or deleted; it is opened anew", self.path)
                    self._discard()
                connection = self._connection or self._open()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError) as error:
                self._discard()
                raise StoreError(f"SQLite file {self.path!r} cannot be used: {error}") from error

    def _identity(self) -> tuple[int, int] | None:
        """Which file is there now: others would use that, and not the one that is open."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _discard(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self._busy_s, isolation_level=None, check_same_thread=False)
        try:
            write_ahead(connection, self._busy_s)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._opened = connection, self._identity()
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables, unless another process already has."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(_VERSIONS)
            found = connection.execute("SELECT version FROM spanhook_schema WHERE name = ?", (self._name,)).fetchone()
            if found is None:
                for statement in self._schema:
                    connection.execute(statement)
                connection.execute("INSERT INTO spanhook_schema VALUES (?, ?)", (self._name, self._version))
            elif found[0] in self._upgrades:
                for version in range(found[0], self._version):
                    for statement in self._upgrades[version]:
                        connection.execute(statement)
                connection.execute("UPDATE spanhook_schema SET version = ? WHERE name = ?", (self._version, self._name))
            elif found[0] != self._version:
                raise ConfigurationError(
                    f"{self.path!r} has version {found[0]!r} of what is kept as {self._name!r}, and this "
                    f"spanhook knows version {self._version}; use the newer spanhook that wrote it"
                )
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _keep_out(held: list[Lock]) -> None:
    """Close connections before a process is forked, and keep our threads out of SQLite meanwhile.

    A child inherits what SQLite knows of open files, such as which locks it has, but not the locks: it would write
    without any, and damage the file (https://sqlite.org/howtocorrupt.html#_carrying_an_open_database_across_a_fork_).
    And if a thread was inside SQLite's allocator, it would wait for that thread for ever.
    """
    files = [(file, file._lock) for file in list(_files)]
    taken = filter(methodcaller("acquire", timeout=_LONGEST_HOLD_S), [lock for _, lock in files])
    try:
        held.extend(taken)  # in C: an interrupt may come while it waits, not between taking a lock and keeping it
    finally:
        held.extend(taken)  # those behind the one whose wait was interrupted
        for file, lock in files:
            if lock in held and file._connection is not None and not file._connection.in_transaction:
                file._discard()


held_for_fork(_keep_out)
