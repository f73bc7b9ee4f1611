"""An outbox in an SQLite file, for the processes of one machine."""

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from secrets import token_hex
from typing import NamedTuple

from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.outbox import Due, Outcome, State

_SCHEMA = (
    """CREATE TABLE spanhook_outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, delivery_id TEXT NOT NULL UNIQUE, target TEXT NOT NULL,
        event_id TEXT NOT NULL, event_type TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL,
        attempts INTEGER NOT NULL, due_ns INTEGER NOT NULL, lease TEXT NOT NULL, leased_until_ns INTEGER NOT NULL,
        created_ns INTEGER NOT NULL, ended_ns INTEGER NOT NULL, status INTEGER NOT NULL, error TEXT NOT NULL,
        traceparent TEXT NOT NULL)""",
    "CREATE INDEX spanhook_outbox_by_due ON spanhook_outbox (target, state, due_ns)",
    "CREATE INDEX spanhook_outbox_by_order ON spanhook_outbox (target, state, id)",
)
_INSERT = """INSERT INTO spanhook_outbox VALUES
    (NULL, ?, ?, ?, ?, ?, 'pending', 0, ?, '', 0, ?, 0, 0, '', ?)"""
_ANY = """SELECT * FROM spanhook_outbox WHERE target = ? AND state = 'pending' AND due_ns <= ? AND leased_until_ns <= ?
    ORDER BY due_ns, id LIMIT ?"""
_FIRST = """SELECT * FROM (SELECT * FROM spanhook_outbox WHERE target = ? AND state = 'pending' ORDER BY id LIMIT 1)
    WHERE due_ns <= ? AND leased_until_ns <= ? LIMIT ?"""
_LEASE = "UPDATE spanhook_outbox SET lease = ?, leased_until_ns = ? WHERE id = ?"
_SETTLE = """UPDATE spanhook_outbox SET state = ?, attempts = attempts + 1, due_ns = ?, lease = '', leased_until_ns = 0,
    ended_ns = ?, status = ?, error = ? WHERE delivery_id = ? AND lease = ?"""
_LAST_DEAD = """DELETE FROM spanhook_outbox WHERE target = ? AND state = 'dead' AND id <= (
    SELECT id FROM spanhook_outbox WHERE target = ? AND state = 'dead' ORDER BY id DESC LIMIT 1 OFFSET ?)"""
_MOST_DEAD = 10_000


class Entry(NamedTuple):
    """An event that is to be delivered.

    Attributes:
        event_id, event_type: The event.
        body: What is sent.
        time_ns: When it happened, in nanoseconds since the epoch.
        traceparent: The span that it belongs to; empty for none.
    """

    event_id: str
    event_type: str
    body: str
    time_ns: int
    traceparent: str = ""


class SQLiteOutbox:
    """What is to be delivered to one URL. What was delivered is deleted; the dead stay, the last 10,000 of them.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
        url: Where events go; it is not kept in the file.
        secrets: What they are signed with, the newest first; nor are these.
        ordered: Whether an event is sent only after those before it.
    """

    def __init__(self, path: str, url: str, secrets: Sequence[str], *, ordered: bool = False) -> None:
        self._file = SQLiteFile(path, "outbox", 1, _SCHEMA, durable=True)
        self._url, self._secrets = url, tuple(secrets)
        self._target, self._claim = sha256(url.encode()).hexdigest(), _FIRST if ordered else _ANY

    def add(self, entries: Sequence[Entry]) -> None:
        """Put events into the outbox: all of them, or none.

        Raises:
            ConfigurationError: The tables were written by a newer spanhook.
            StoreError: The file cannot be used now.
        """
        rows = [
            (f"dlv_{token_hex(12)}", self._target, *one[:3], one.time_ns, one.time_ns, one.traceparent)
            for one in entries
        ]
        with self._file.transaction() as connection:
            connection.executemany(_INSERT, rows)

    def claim(self, now_ns: int, until_ns: int, most: int) -> list[Due]:
        """Lease what is due; see ``Outbox``.

        Raises:
            StoreError: The file cannot be used now.
        """
        lease = token_hex(8)
        with self._file.transaction() as connection:
            found = self._rows(connection, now_ns, most)
            connection.executemany(_LEASE, [(lease, until_ns, row["id"]) for row in found])
        return [
            Due(
                row["delivery_id"],
                lease,
                self._target[:16],
                row["event_id"],
                row["event_type"],
                self._url,
                self._secrets,
                row["body"],
                row["attempts"],
                row["traceparent"],
            )
            for row in found
        ]

    def settle(self, due: Due, outcome: Outcome) -> None:
        """Keep what came of an attempt; see ``Outbox``.

        Raises:
            StoreError: The file cannot be used now.
        """
        ended = 0 if outcome.state == "pending" else outcome.time_ns + outcome.duration_ns
        with self._file.transaction() as connection:
            if outcome.state == "delivered":
                sent = "DELETE FROM spanhook_outbox WHERE delivery_id = ? AND lease = ?"
                connection.execute(sent, (due.delivery_id, due.lease))
                return
            told = (outcome.state, outcome.due_ns, ended, outcome.status, outcome.error, due.delivery_id, due.lease)
            connection.execute(_SETTLE, told)
            if outcome.state == "dead":
                connection.execute(_LAST_DEAD, (self._target, self._target, _MOST_DEAD))

    def count(self, state: State) -> int:
        """How many deliveries there are in a state; none are ``delivered``, as those are deleted.

        Raises:
            StoreError: The file cannot be used now.
        """
        query = "SELECT count(*) FROM spanhook_outbox WHERE target = ? AND state = ?"
        with self._file.transaction() as connection:
            return connection.execute(query, (self._target, state)).fetchone()[0]

    def close(self) -> None:
        """Close the file; it is opened again when needed."""
        self._file.close()

    def _rows(self, connection: sqlite3.Connection, now_ns: int, most: int) -> list[sqlite3.Row]:
        cursor = connection.cursor()
        cursor.row_factory = sqlite3.Row
        return cursor.execute(self._claim, (self._target, now_ns, now_ns, most)).fetchall()
