"""How an SQLite file is opened: by how many connections, with which settings, and with how much memory.

Each connection caches pages of its own, which stay until somebody else writes. So there are few, those used last are
used first, and one alone writes telemetry: a second one would fill another cache with the same pages.
"""

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, PoolProxiedConnection, QueuePool

from spanhook.store._sqlite_file import write_ahead

BUSY_MS = 30_000
"""How long a connection waits for other writers of the same file."""
_SLICE_MS, _PAUSE_S = 50, 0.001
"""How long a thread waits at a time, and between these times."""
CONNECTIONS = 8
"""How many stay open for those who wait on an event loop."""
CACHE_KIB, WRITER_CACHE_KIB = 4 * 1024, 32 * 1024
"""Pages that a connection caches, and the one that writes telemetry. The system caches the file besides."""
WRITES = "spanhook_writes"
"""The execution option of connections whose transaction writes."""
_STATEMENTS = 64
"""Prepared statements that a connection keeps. They keep the values of many rows."""
_CHECKPOINT_PAGES = 8_192
_LOG_BYTES = 64 * 1024 * 1024
"""What the log is cut to after it had to grow."""


def engine(path: str) -> AsyncEngine:
    """What connects those who wait on an event loop."""
    made = create_async_engine(
        URL.create("sqlite+aiosqlite", database=path),
        poolclass=AsyncAdaptedQueuePool,
        pool_size=CONNECTIONS,
        pool_use_lifo=True,
        connect_args=_arguments(),
        hide_parameters=True,
    )
    _listen(made.sync_engine, CACHE_KIB, _begun)
    return made


def writer(path: str) -> Engine:
    """What connects threads that write, one at a time."""
    return _of_threads(path, WRITER_CACHE_KIB)


def reader(path: str) -> Engine:
    """What connects threads that read, one at a time."""
    return _of_threads(path, CACHE_KIB)


def _of_threads(path: str, cache_kib: int) -> Engine:
    made = create_engine(
        URL.create("sqlite+pysqlite", database=path),
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args=_arguments(),
        hide_parameters=True,
    )
    _listen(made, cache_kib, _begun_here)
    return made


def _arguments() -> dict[str, Any]:
    return {"timeout": BUSY_MS / 1000, "check_same_thread": False, "cached_statements": _STATEMENTS}


def _listen(engine: Engine, cache_kib: int, begun: Callable[[Any], None]) -> None:
    event.listen(engine, "connect", partial(_configure, cache_kib))
    event.listen(engine, "begin", begun)


def _configure(cache_kib: int, connection: Any, _record: Any) -> None:
    """Settings of each connection to an SQLite file.

    ``synchronous=FULL``: in WAL mode ``NORMAL`` could lose the last commits when the machine loses power, and what is
    acknowledged must stay. It costs one ``fsync`` per commit, and many batches share one.
    """
    connection.isolation_level = None  # transactions begin as ``_begun`` says, for changes of tables too
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={BUSY_MS}",
        "foreign_keys=ON",
        "synchronous=FULL",
        f"cache_size=-{cache_kib}",
        f"wal_autocheckpoint={_CHECKPOINT_PAGES}",
        f"journal_size_limit={_LOG_BYTES}",
        "temp_store=MEMORY",
        "trusted_schema=OFF",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begun(connection: Any) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _begun_here(connection: Any) -> None:
    """As ``_begun``, on a thread, which waits a little at a time.

    While SQLite waits, it holds the connection's mutex. An event loop that drops a cursor of the connection would wait
    for it, and with the loop its own transaction, which is what SQLite waits for.
    """
    if not connection.get_execution_options().get(WRITES):
        connection.exec_driver_sql("BEGIN")
        return
    own: sqlite3.Connection = connection.connection.driver_connection
    ends = time.monotonic() + BUSY_MS / 1000
    own.execute(f"PRAGMA busy_timeout={_SLICE_MS}").close()
    try:
        while True:
            try:
                own.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= ends:
                    raise
            time.sleep(_PAUSE_S)
    finally:
        own.execute(f"PRAGMA busy_timeout={BUSY_MS}").close()


def prepare(path: str) -> None:
    """Set what an SQLite file keeps: a log for writing ahead, and that space can be given back without a rewrite."""
    connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None)
    try:
        connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file; others keep what they have
        write_ahead(connection, BUSY_MS / 1000)
    finally:
        connection.close()


def give_back(connection: PoolProxiedConnection, pages: int) -> None:
    """Give some free pages back to the file system."""
    cursor = connection.cursor()
    for pragma in (f"incremental_vacuum({pages})", "wal_checkpoint(PASSIVE)", "optimize"):
        cursor.execute(f"PRAGMA {pragma}")
        cursor.fetchall()
    cursor.close()
