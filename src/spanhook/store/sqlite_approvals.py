"""Requests for approval in an SQLite file, for the processes of one machine."""

import json
import time
from collections.abc import Callable
from sqlite3 import Connection
from typing import Any, TypeVar

from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.approvals import ApprovalRequest, Approvals, ApprovalStatus, Shelf, chosen

T = TypeVar("T")
_SCHEMA = (
    """CREATE TABLE spanhook_approvals (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, binding TEXT NOT NULL, status TEXT NOT NULL,
        place TEXT NOT NULL, kept_until REAL NOT NULL, request TEXT NOT NULL)""",
    "CREATE INDEX spanhook_approvals_by_binding ON spanhook_approvals (binding, number)",
    "CREATE INDEX spanhook_approvals_by_status ON spanhook_approvals (status, number)",
    "CREATE INDEX spanhook_approvals_by_place ON spanhook_approvals (place, status, number)",
    "CREATE INDEX spanhook_approvals_by_end ON spanhook_approvals (kept_until)",
)
_SAVE = """INSERT INTO spanhook_approvals (id, binding, status, place, kept_until, request) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, kept_until = excluded.kept_until,
    request = excluded.request"""

_AT_PLACE = "SELECT request FROM spanhook_approvals WHERE place = ? AND status = 'pending' ORDER BY number"


class _Shelf:
    def __init__(self, now: float, connection: Connection) -> None:
        self.now, self._connection = now, connection

    def by_id(self, id: str) -> ApprovalRequest | None:
        return self._one("SELECT request FROM spanhook_approvals WHERE id = ?", id)

    def latest(self, binding: str) -> ApprovalRequest | None:
        return self._one(
            "SELECT request FROM spanhook_approvals WHERE binding = ? ORDER BY number DESC LIMIT 1", binding
        )

    def save(self, request: ApprovalRequest) -> None:
        kept = json.dumps(request.as_dict())
        row = (request.id, request.binding, request.status, request.place, request.kept_until, kept)
        self._connection.execute(_SAVE, row)

    def _one(self, query: str, key: str) -> ApprovalRequest | None:
        row: Any = self._connection.execute(query, (key,)).fetchone()
        return None if row is None else ApprovalRequest.of(json.loads(row[0]))


class SQLiteApprovals(Approvals):
    """Requests in an SQLite file.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
        clock: Seconds since the epoch.
    """

    remote = True

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._file = SQLiteFile(path, "approvals", 1, _SCHEMA)
        self._clock = clock
        self.shown = f"sqlite:///{self._file.path}"

    def change(self, change: Callable[[Shelf], T]) -> T:
        with self._file.transaction() as connection:
            return change(_Shelf(self._clock(), connection))

    def requests(
        self, status: ApprovalStatus | None = None, limit: int = 1000, tenant: str | None = None
    ) -> list[ApprovalRequest]:
        now = self._clock()
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM spanhook_approvals WHERE kept_until < ?", (now,))
            kept = "WHERE status = 'pending'" if status == "pending" else ""
            query = f"SELECT request FROM spanhook_approvals {kept} ORDER BY number"  # noqa: S608 - ours
            rows: list[Any] = connection.execute(query).fetchall()
        found = [ApprovalRequest.of(json.loads(row[0])).at(now) for row in rows]
        return chosen(found, status, tenant)[-limit:]

    def pending_at(self, place: str) -> list[ApprovalRequest]:
        now = self._clock()
        with self._file.transaction() as connection:
            rows: list[Any] = connection.execute(_AT_PLACE, (place,)).fetchall()
        found = [ApprovalRequest.of(json.loads(row[0])).at(now) for row in rows]
        return [request for request in found if request.status == "pending"]

    def close(self) -> None:
        self._file.close()
