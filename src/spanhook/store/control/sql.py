"""Writing many rows with few statements, on either database.

On SQLite a statement has the values of many rows: its driver gives up Python's lock for each statement, and getting it
back can take longer than the statement itself. On PostgreSQL the columns are arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from sqlalchemy import Boolean, Connection, LargeBinary, Table
from sqlalchemy.types import TypeEngine

from spanhook.store.control.columns import Big
from spanhook.store.control.facts import MOST_USED

Rows = Sequence[Sequence[Any]]
_CHUNKS = (256, 32, 4, 1)
_KEYS = (512, 64, 8, 1)
"""How many keys a statement has, so that there are few statements: each is prepared once, and kept."""
_INGEST_LOCK = 0x7370616E686F6F6C
_AROUND = (
    "SELECT s.trace_id, s.owner, s.span_id FROM {} spanhook_spans AS s"
    " WHERE s.trace_id = {} AND s.span_id = {} AND s.run_id = ''"
)
_DO_NOTHING = "ON CONFLICT DO NOTHING"


class Sql(ABC):
    """Statements for one connection, inside of a transaction.

    Args:
        connection: It must be the only one that writes telemetry; see ``writers_of``.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def enter(self) -> None:
        """Wait until no other process writes telemetry; nobody else does until the transaction ends."""

    @abstractmethod
    def insert(self, table: Table, columns: Sequence[str], rows: Rows, conflict: str = _DO_NOTHING) -> int:
        """Insert rows. Returns how many were inserted or updated."""

    @abstractmethod
    def ids(self, table: Table, count: int) -> list[int]:
        """Numbers for new rows of a table whose key is ``id``."""

    @abstractmethod
    def among(self, query: str, keys: Sequence[Any]) -> list[Any]:
        """The rows of a query that ends in ``IN`` a set of keys, such as ``SELECT a FROM t WHERE b``."""

    @abstractmethod
    def around(self, pairs: Sequence[tuple[bytes, bytes]]) -> list[Any]:
        """Trace id, owner and id of those spans with these trace and span ids that belong to no run."""

    @abstractmethod
    def many(self, statement: str, rows: Rows) -> None:
        """Run a statement, with ``?`` for parameters, for each row."""

    def last(self, table: Table) -> int:
        """The highest ``id``; 0 if there is none."""
        return int(self.connection.exec_driver_sql(f"SELECT coalesce(max(id), 0) FROM {table.name}").scalar_one())  # noqa: S608

    def update(self, key: str, columns: Iterable[str]) -> str:
        """What to do with a row that is there already: take the new values."""
        taken = ", ".join(f"{name} = excluded.{name}" for name in columns)
        return f"ON CONFLICT ({key}) DO UPDATE SET {taken}"

    def add(self, table: Table, key: str, columns: Iterable[str]) -> str:
        """What to do with a row that is there already: add the new numbers, which stop before they overflow."""
        sums = ", ".join(f"{one} = {self.least}({MOST_USED}, {table.name}.{one} + excluded.{one})" for one in columns)
        return f"ON CONFLICT ({key}) DO UPDATE SET {sums}"

    least: str


class _SQLite(Sql):
    least = "min"

    def enter(self) -> None:
        """The transaction is the only one that writes."""

    def insert(self, table: Table, columns: Sequence[str], rows: Rows, conflict: str = _DO_NOTHING) -> int:
        changed, left, given = 0, len(rows), iter(rows)
        for size in _CHUNKS:
            while left >= size:
                values = tuple(chain.from_iterable(islice(given, size)))
                statement = _values(table.name, tuple(columns), size, conflict)
                changed += self.connection.exec_driver_sql(statement, values).rowcount
                left -= size
        return changed

    def ids(self, table: Table, count: int) -> list[int]:
        first = self.last(table) + 1
        return list(range(first, first + count))

    def among(self, query: str, keys: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for some in _portions(keys):
            marks = ", ".join("?" * len(some))
            found += self.connection.exec_driver_sql(f"{query} IN ({marks})", some).fetchall()
        return found

    def around(self, pairs: Sequence[tuple[bytes, bytes]]) -> list[Any]:
        found: list[Any] = []
        for some in _portions(pairs):
            marks = ", ".join(["(?, ?)"] * len(some))
            # A cross join keeps this order: SQLite would read all spans for ``(a, b) IN (VALUES ...)``.
            query = _AROUND.format(f"(VALUES {marks}) AS wanted CROSS JOIN", "wanted.column1", "wanted.column2")
            found += self.connection.exec_driver_sql(query, tuple(chain(*some))).fetchall()
        return found

    def many(self, statement: str, rows: Rows) -> None:
        for row in rows:
            self.connection.exec_driver_sql(statement, tuple(row))


class _PostgreSQL(Sql):
    least = "least"

    def enter(self) -> None:
        """Writers wait for each other: each sees what those before it have written."""
        self.connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_INGEST_LOCK,))

    def insert(self, table: Table, columns: Sequence[str], rows: Rows, conflict: str = _DO_NOTHING) -> int:
        if not rows:
            return 0
        names = ", ".join(columns)
        arrays = ", ".join(f"%s::{_array(table.c[name].type)}" for name in columns)
        statement = f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({arrays}) {conflict}"  # noqa: S608
        given = tuple(list(column) for column in zip(*rows, strict=True))
        return self.connection.exec_driver_sql(statement, given).rowcount

    def ids(self, table: Table, count: int) -> list[int]:
        if not count:
            return []
        query = "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)"
        return list(self.connection.exec_driver_sql(query, (table.name, count)).scalars())

    def among(self, query: str, keys: Sequence[Any]) -> list[Any]:
        return list(self.connection.exec_driver_sql(f"{query} = ANY(%s)", (list(keys),))) if keys else []

    def around(self, pairs: Sequence[tuple[bytes, bytes]]) -> list[Any]:
        if not pairs:
            return []
        wanted = "unnest(%s::bytea[], %s::bytea[]) AS wanted (trace_id, span_id) CROSS JOIN"
        query = _AROUND.format(wanted, "wanted.trace_id", "wanted.span_id")
        return list(self.connection.exec_driver_sql(query, tuple(list(column) for column in zip(*pairs, strict=True))))

    def many(self, statement: str, rows: Rows) -> None:
        if rows:
            self.connection.exec_driver_sql(statement.replace("?", "%s"), [tuple(row) for row in rows])


def sql(connection: Connection) -> Sql:
    """The statements for a connection's database."""
    return _PostgreSQL(connection) if connection.dialect.name == "postgresql" else _SQLite(connection)


def _portions(keys: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Keys in portions of few sizes."""
    given, left = iter(keys), len(keys)
    for size in _KEYS:
        for _ in range(left // size):
            yield tuple(islice(given, size))
        left %= size


@lru_cache(256)
def _values(table: str, columns: tuple[str, ...], rows: int, conflict: str) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * rows)} {conflict}"  # noqa: S608


def _array(sort: TypeEngine[Any]) -> str:
    if isinstance(sort, LargeBinary):
        return "bytea[]"
    if isinstance(sort, Boolean):
        return "boolean[]"
    return "bigint[]" if sort is Big else "text[]"
