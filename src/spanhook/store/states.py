"""Small texts by key that several processes change, each change with the store to itself."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from spanhook.store._postgres_database import PostgresDatabase, storable
from spanhook.store._renewal import renewed
from spanhook.store._sqlite_file import SQLiteFile

T = TypeVar("T")
Change = Callable[[str | None], tuple[str, T]]
"""Gets the text of a key, or ``None``; returns the new text and something else."""

_LOCK = 0x7370616E686F6F73
_WRITE = "INSERT INTO spanhook_states VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET state = excluded.state"
_POSTGRES = ("CREATE TABLE IF NOT EXISTS spanhook_states (key TEXT PRIMARY KEY, state TEXT NOT NULL)",)
_SCHEMA = ("CREATE TABLE spanhook_states (key TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID",)


class States(Protocol):
    """What stores of such texts have in common."""

    def change(self, key: str, change: "Change[T]") -> T:
        """Change the text of a key; nobody else changes it meanwhile.

        Args:
            key: The key.
            change: Called while everybody else waits; again if the connection was lost. If it raises, nothing
                changes.

        Returns:
            What ``change`` returned besides the text.

        Raises:
            StoreError: The store cannot be used now.
        """
        ...

    def read(self, keys: "Sequence[str]") -> dict[str, str]:
        """The texts of those of the keys that have one.

        Raises:
            StoreError: The store cannot be used now.
        """
        ...

    def close(self) -> None:
        """Close what is open."""


class MemoryStates:
    """Texts in the memory of one process."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self.renew()
        renewed.add(self)

    def renew(self) -> None:
        """Use a lock of its own in a forked child."""
        self._lock = threading.Lock()

    def change(self, key: str, change: "Change[T]") -> T:
        with self._lock:
            self._states[key], result = change(self._states.get(key))
        return result

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        with self._lock:
            return {key: self._states[key] for key in keys if key in self._states}

    def close(self) -> None:
        """Do nothing: what is in memory stays there."""


class SQLiteStates:
    """Texts in an SQLite file, for the processes of one machine.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
    """

    def __init__(self, path: str) -> None:
        self._file = SQLiteFile(path, "states", 1, _SCHEMA)

    def change(self, key: str, change: "Change[T]") -> T:
        with self._file.transaction() as connection:
            found: Any = connection.execute("SELECT state FROM spanhook_states WHERE key = ?", (key,)).fetchone()
            before = None if found is None else str(found[0])
            text, result = change(before)
            if text != before:
                connection.execute(
                    "INSERT INTO spanhook_states VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET state = excluded.state",
                    (key, text),
                )
        return result

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        query = "SELECT key, state FROM spanhook_states WHERE key IN (SELECT value FROM json_each(?))"
        with self._file.transaction() as connection:
            return {str(key): str(text) for key, text in connection.execute(query, (json.dumps([*keys]),))}

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        self._file.close()


class PostgresStates:
    """Texts in a PostgreSQL database, for the processes of several machines; in a table that is created if necessary.

    Args:
        url: ``postgresql://``.

    Raises:
        ConfigurationError: The package ``psycopg`` is not installed, or the address cannot be used.
    """

    def __init__(self, url: str) -> None:
        self._database = PostgresDatabase(url, _LOCK, _POSTGRES)

    def change(self, key: str, change: "Change[T]") -> T:
        def run(connection: Any, _now: float) -> T:
            name = storable(key)
            found = connection.execute("SELECT state FROM spanhook_states WHERE key = %s", (name,)).fetchone()
            before = None if found is None else str(found[0])
            text, result = change(before)
            if text != before:
                connection.execute(_WRITE, (name, storable(text)))
            return result

        return self._database.use(run)

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        def run(connection: Any, _now: float) -> dict[str, str]:
            wanted = {storable(key): key for key in keys}
            query = "SELECT key, state FROM spanhook_states WHERE key = ANY(%s)"
            return {wanted[str(key)]: str(text) for key, text in connection.execute(query, (list(wanted),))}

        return self._database.use(run)

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        self._database.close()
