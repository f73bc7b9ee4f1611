"""A connection to a PostgreSQL database with tables of one purpose, shared by threads."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store._renewal import renewed
from spanhook.store.addresses import parse_address

T = TypeVar("T")
TIMEOUT_S = 2
"""How long to wait for a connection, and for an answer."""
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"


class PostgresDatabase:
    """A connection, opened when first used, and again after a fork or when it was lost.

    Args:
        url: ``postgresql://``.
        lock: The number of the advisory lock that transactions have, one after the other.
        schema: The statements that create the tables, if they are missing.

    Raises:
        ConfigurationError: The package ``psycopg`` is not installed, or the address cannot be used.
    """

    def __init__(self, url: str, lock: int, schema: Sequence[str]) -> None:
        self.shown = parse_address(url).shown
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise ConfigurationError(f'{self.shown} needs psycopg; pip install "spanhook[postgres]"') from None
        self._psycopg: Any = psycopg
        self._url, self._number, self._schema = url, lock, schema
        try:
            conninfo_to_dict(url)
        except psycopg.Error:
            raise ConfigurationError(f"{self.shown} cannot be used: it is not a PostgreSQL address") from None
        self.renew()
        renewed.add(self)

    def renew(self) -> None:
        """Open a new connection in a forked child; the one there is belongs to the parent."""
        self._lock = threading.Lock()
        self._parents = getattr(self, "_connection", None)  # kept: closing it would end the parent's session
        self._connection: Any = None

    def close(self) -> None:
        """Close the connection; it is opened again when needed."""
        with self._lock:
            self._drop()

    def use(self, run: Callable[[Any, float], T]) -> T:
        """Run a function in a transaction that no other process's overlaps; again if the connection was lost.

        Args:
            run: Gets the connection, and the server's time in seconds since the epoch.

        Raises:
            StoreError: The server cannot be reached, or refuses.
        """
        with self._lock:
            for again in (True, False):
                known = self._connection is not None
                try:
                    connection = self._connection = self._connection or self._connected()
                    with connection.transaction():
                        connection.execute("SELECT pg_advisory_xact_lock(%s)", (self._number,))
                        return run(connection, float(connection.execute(_NOW).fetchone()[0]))
                except self._psycopg.Error as error:
                    away = isinstance(error, self._psycopg.OperationalError | self._psycopg.InterfaceError)
                    self._drop()
                    if again and known and away:  # the server may have been restarted since
                        continue
                    raise StoreError(f"{self.shown} cannot be used: {type(error).__name__}") from None
        raise AssertionError

    def _connected(self) -> Any:
        options = f"-c statement_timeout={TIMEOUT_S * 1000} -c lock_timeout={TIMEOUT_S * 1000}"
        made = self._psycopg.connect(self._url, autocommit=True, connect_timeout=TIMEOUT_S, options=options)
        with made.transaction():
            made.execute("SELECT pg_advisory_xact_lock(%s)", (self._number,))
            for statement in self._schema:
                made.execute(statement)
        return made

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None


def storable(text: str) -> str:
    """A text that PostgreSQL takes."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
