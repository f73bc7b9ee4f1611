"""A ledger in an SQLite file, for the processes of one machine."""

import time
from collections.abc import Callable
from sqlite3 import Connection

from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.ledger import MARGIN_S, REMEMBERED_S, Amounts, Caps, Standing

BUSY_S = 2.0
_PURGE_S = 60.0

_SCHEMA = (
    """CREATE TABLE spanhook_accounts (
        name TEXT PRIMARY KEY, tokens INTEGER NOT NULL, nano INTEGER NOT NULL, until REAL) WITHOUT ROWID""",
    """CREATE TABLE spanhook_reservations (
        id TEXT PRIMARY KEY, account TEXT NOT NULL, tokens INTEGER NOT NULL, nano INTEGER NOT NULL,
        ends REAL NOT NULL, settled INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX spanhook_reservations_by_account ON spanhook_reservations (account, settled)",
    "CREATE INDEX spanhook_reservations_by_end ON spanhook_reservations (settled, ends)",
    "CREATE INDEX spanhook_accounts_by_end ON spanhook_accounts (until)",
)
_HELD = (
    "SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(nano), 0) FROM spanhook_reservations "
    "WHERE account = ? AND settled = 0"
)


class SQLiteLedger:
    """Accounts in an SQLite file.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
        clock: Seconds since the epoch.
    """

    remote = True

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._file = SQLiteFile(path, "ledger", 1, _SCHEMA, BUSY_S)
        self._clock = clock
        self._purged = 0.0
        self.shown = f"sqlite:///{self._file.path}"

    def reserve(
        self, account: str, reservation: str, amounts: Amounts, caps: Caps, lease_s: float, until: float | None
    ) -> Standing:
        now = self._clock()
        with self._file.transaction() as connection:
            self._purge(connection, now)
            spent = _opened(connection, account, until)
            expired = _expire(connection, account, now)
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
            own = connection.execute(
                "SELECT tokens, nano, settled FROM spanhook_reservations WHERE id = ?", (reservation,)
            ).fetchone()
            is_settled = own is not None and bool(own[2])
            mine = Amounts() if own is None or is_settled else Amounts(*own[:2])
            others = Amounts(held.tokens - mine.tokens, held.nano - mine.nano)
            granted = not is_settled and caps.allow(spent + others + amounts)
            if granted:
                connection.execute(
                    "INSERT OR REPLACE INTO spanhook_reservations VALUES (?, ?, ?, ?, ?, 0)",
                    (reservation, account, *amounts, now + lease_s),
                )
                held = others + amounts
        return Standing(spent, held, expired, granted)

    def settle(self, account: str, reservation: str, amounts: Amounts, until: float | None) -> Standing:
        now = self._clock()
        with self._file.transaction() as connection:
            spent = _opened(connection, account, until)
            expired = _expire(connection, account, now)
            known = connection.execute(
                "SELECT 1 FROM spanhook_reservations WHERE id = ? AND settled = 1", (reservation,)
            ).fetchone()
            if known is None:
                connection.execute(
                    "INSERT OR REPLACE INTO spanhook_reservations VALUES (?, ?, ?, ?, ?, 1)",
                    (reservation, account, *amounts, now + REMEMBERED_S),
                )
                spent += amounts
                connection.execute(
                    "UPDATE spanhook_accounts SET tokens = ?, nano = ? WHERE name = ?", (*spent, account)
                )
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
        return Standing(spent, held, expired)

    def extend(self, account: str, reservation: str, lease_s: float) -> None:  # noqa: ARG002 - ids are unique
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE spanhook_reservations SET ends = ? WHERE id = ? AND settled = 0",
                (self._clock() + lease_s, reservation),
            )

    def standing(self, account: str) -> Standing:
        with self._file.transaction() as connection:
            row = connection.execute("SELECT tokens, nano FROM spanhook_accounts WHERE name = ?", (account,)).fetchone()
            expired = _expire(connection, account, self._clock())
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
        return Standing(Amounts(*row) if row else Amounts(), held, expired)

    def close(self) -> None:
        self._file.close()

    def _purge(self, connection: Connection, now: float) -> None:
        """Once a minute, forget what nobody will ask for: settled reservations, and accounts whose time is over."""
        if now < self._purged + _PURGE_S:
            return
        connection.execute("DELETE FROM spanhook_reservations WHERE settled = 1 AND ends < ?", (now,))
        connection.execute(
            "DELETE FROM spanhook_accounts WHERE until < ? AND NOT EXISTS (SELECT 1 FROM spanhook_reservations "
            "WHERE account = spanhook_accounts.name AND settled = 0)",
            (now - MARGIN_S,),
        )
        self._purged = now


def _opened(connection: Connection, account: str, until: float | None) -> Amounts:
    """What was spent from an account, which is created if it is not there."""
    connection.execute(
        "INSERT INTO spanhook_accounts VALUES (?, 0, 0, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until",
        (account, until),
    )
    return Amounts(
        *connection.execute("SELECT tokens, nano FROM spanhook_accounts WHERE name = ?", (account,)).fetchone()
    )


def _expire(connection: Connection, account: str, now: float) -> int:
    return connection.execute(
        "DELETE FROM spanhook_reservations WHERE account = ? AND settled = 0 AND ends < ?", (account, now)
    ).rowcount
