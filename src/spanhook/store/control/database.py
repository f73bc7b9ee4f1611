"""One database of the control plane: an SQLite file, or PostgreSQL."""

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store.control import sqlite
from spanhook.store.control.migrating import migrate

_CONNECTIONS = 8
_EXPECTED = "expected sqlite:///spanhook.db or postgresql://user@host/database"
_CALLERS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
"""Errors that say what a statement did, not how the database is."""
_FULL = ("database or disk is full", "no space left", "disk i/o error")


class Database:
    """A database with the control plane's tables. Open one with ``Database.open``.

    Attributes:
        engine: SQLAlchemy's engine. Prefer ``reading`` and ``writing``.
        dialect: Which of the two it is.
        shown: The address for messages, without a password.
        url: The address that ``open_approvals`` takes; it may have a password.
        path: The file, for SQLite; otherwise empty.
    """

    def __init__(self, engine: AsyncEngine, url: str, shown: str, path: str) -> None:
        self.engine, self.url, self.shown, self.path = engine, url, shown, path
        self._turn = threading.Lock() if path else contextlib.nullcontext()
        self._reader = sqlite.reader(path) if path else _threads_of(engine)
        self._writer = sqlite.writer(path) if path else self._reader
        self.dialect: Literal["sqlite", "postgresql"] = "sqlite" if path else "postgresql"

    @classmethod
    async def open(cls, url: str, *, folder: str = "") -> Self:
        """Open a database and bring its tables to this version; several processes may do so at once.

        Args:
            url: ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``postgresql://user:password@host/database``.
            folder: Where relative paths start; by default the working directory.

        Raises:
            ConfigurationError: The address cannot be used, or the database was written by a newer version.
            StoreError: The database cannot be used now.
        """
        database = cls(*_engine(url, folder))
        try:
            await database._begin()
        except BaseException:
            await database.close()
            raise
        return database

    async def _begin(self) -> None:
        if self.path:
            with _told(self.shown):
                await asyncio.to_thread(sqlite.prepare, self.path)
        async with self.writing() as connection:
            await connection.run_sync(migrate)

    async def close(self) -> None:
        """Close all connections."""
        await self.engine.dispose()
        self._writer.dispose()
        self._reader.dispose()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[AsyncConnection]:
        """A connection to read with. What it reads on SQLite is of one moment.

        Raises:
            StoreError: The database cannot be used now.
        """
        with _told(self.shown):
            async with self.engine.connect() as connection, connection.begin():
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[AsyncConnection]:
        """A transaction that changes something. On SQLite it is the only one of all processes.

        It is committed at the end of the block, and rolled back if the block raises anything.

        Raises:
            StoreError: The database cannot be used now: it is away, full, or busy for too long. Nothing was changed.
        """
        with _told(self.shown):
            async with self.engine.connect() as plain:
                connection = await plain.execution_options(**{sqlite.WRITES: True})
                async with connection.begin():
                    yield connection

    @contextmanager
    def reading_here(self) -> Generator[Connection]:
        """As ``reading``, for a thread that may wait.

        Raises:
            StoreError: As ``reading``.
        """
        with _told(self.shown), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing_here(self) -> Generator[Connection]:
        """As ``writing``, for a thread that may wait.

        Threads of one process wait for each other without SQLite's pauses of up to a tenth of a second.

        Raises:
            StoreError: As ``writing``.
        """
        with _told(self.shown), self._turn, self._writer.connect() as plain:
            connection = plain.execution_options(**{sqlite.WRITES: True})
            with connection.begin():
                yield connection

    def give_back(self, pages: int) -> None:
        """Give some free pages of an SQLite file back to the file system, from a thread that may wait.

        Raises:
            StoreError: As ``writing``.
        """
        if not self.path:
            return
        with _told(self.shown), self._turn, contextlib.closing(self._writer.raw_connection()) as connection:
            sqlite.give_back(connection, pages)

    async def ping(self) -> None:
        """Ask the database for nothing.

        Raises:
            StoreError: It does not answer.
        """
        async with self.reading() as connection:
            await connection.execute(text("SELECT 1"))


@contextmanager
def _told(shown: str) -> Generator[None]:
    """Turns what is wrong with the database into ``StoreError``, which does not say what was to be written."""
    try:
        yield
    except DBAPIError as error:
        if isinstance(error, _CALLERS) and not error.connection_invalidated:
            raise
        raise StoreError(_said(shown, str(error.orig))) from error
    except (PoolTimeout, sqlite3.Error) as error:
        raise StoreError(_said(shown, str(error))) from error


def _said(shown: str, message: str) -> str:
    full = "no space is left: " if any(one in message.lower() for one in _FULL) else ""
    return f"{shown}: {full}{message.strip().partition(chr(10))[0]}"


def _engine(url: str, folder: str) -> tuple[AsyncEngine, str, str, str]:
    try:
        parts = urlsplit(url)
        scheme = parts.scheme.partition("+")[0]
        if scheme == "sqlite":
            return _sqlite(unquote(parts.path)[1:] if not parts.netloc else "", url, folder)
        if scheme in ("postgresql", "postgres"):
            return _postgres(url)
    except ConfigurationError:
        raise
    except (ValueError, SQLAlchemyError):
        raise ConfigurationError(f"the address of the database cannot be read; {_EXPECTED}") from None
    raise ConfigurationError(f"the address of the database has the scheme {scheme!r}; {_EXPECTED}")


def _sqlite(path: str, url: str, folder: str) -> tuple[AsyncEngine, str, str, str]:
    if not path or path == ":memory:":
        raise ConfigurationError(f"{url!r} names no SQLite file; write sqlite:///spanhook.db (three slashes)")
    path = os.path.abspath(os.path.join(folder, path))
    if not os.path.isdir(os.path.dirname(path)):
        raise ConfigurationError(f"{url}: the folder {os.path.dirname(path)!r} does not exist; create it")
    shown = f"sqlite:///{path}"
    return sqlite.engine(path), shown, shown, path


def _threads_of(engine: AsyncEngine) -> Engine:
    return create_engine(engine.url, poolclass=QueuePool, hide_parameters=True, pool_pre_ping=True)


def _postgres(url: str) -> tuple[AsyncEngine, str, str, str]:
    try:
        import psycopg  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise ConfigurationError('PostgreSQL needs psycopg: pip install "spanhook[postgres]"') from None
    given = make_url(url).set(drivername="postgresql+psycopg")
    if not given.database:
        raise ConfigurationError(f"the address of the database names no database; {_EXPECTED}")
    pool: dict[str, Any] = {"pool_size": _CONNECTIONS, "max_overflow": _CONNECTIONS, "pool_pre_ping": True}
    engine = create_async_engine(given, hide_parameters=True, **pool)
    shown = given.set(drivername="postgresql", username=None, password=None, query={})
    plain = given.set(drivername="postgresql")
    return engine, plain.render_as_string(hide_password=False), str(shown), ""
