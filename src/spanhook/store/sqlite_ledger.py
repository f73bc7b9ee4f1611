"""A ledger in an SQLite file, for the processes of one machine.

A reservation is its process's for as long as that lives: no clock frees it.
"""

import time
from collections.abc import Callable
from sqlite3 import Connection

from spanhook.diagnostics import log
from spanhook.store._process_lock import ProcessLock
from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.ledger import MARGIN_S, Amounts, Caps, Standing

BUSY_S = 2.0
_PURGE_S = 60.0

_SCHEMA = (
    """CREATE TABLE spanhook_accounts (
        name TEXT PRIMARY KEY, tokens INTEGER NOT NULL, nano INTEGER NOT NULL, until REAL) WITHOUT ROWID""",
    """CREATE TABLE spanhook_reservations (
        id TEXT PRIMARY KEY, account TEXT NOT NULL, tokens INTEGER NOT NULL, nano INTEGER NOT NULL,
        ends REAL NOT NULL, freed INTEGER NOT NULL, process TEXT NOT NULL DEFAULT '') WITHOUT ROWID""",
    "CREATE INDEX spanhook_reservations_by_account ON spanhook_reservations (account, freed)",
    "CREATE INDEX spanhook_reservations_by_end ON spanhook_reservations (freed, ends)",
    "CREATE INDEX spanhook_accounts_by_end ON spanhook_accounts (until)",
)
_UPGRADES = {
    1: (
        "DELETE FROM spanhook_reservations WHERE settled = 0",  # their processes cannot use the file any more
        "ALTER TABLE spanhook_reservations ADD COLUMN process TEXT NOT NULL DEFAULT ''",
    ),
    2: (
        "DELETE FROM spanhook_reservations WHERE settled = 1",  # these are not remembered any more
        "ALTER TABLE spanhook_reservations RENAME COLUMN settled TO freed",
    ),
}
_HELD = (
    "SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(nano), 0) FROM spanhook_reservations WHERE account = ? AND freed = 0"
)


class SQLiteLedger:
    """Accounts in an SQLite file.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.
        clock: Seconds since the epoch.
    """

    remote = True

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._file = SQLiteFile(path, "ledger", 3, _SCHEMA, BUSY_S, upgrades=_UPGRADES)
        self._lock = ProcessLock(self._file.path)
        self._clock = clock
        self._purged = 0.0
        self.shown = f"sqlite:///{self._file.path}"

    def reserve(
        self,
        account: str,
        reservation: str,
        amounts: Amounts,
        caps: Caps,
        lease_s: float,  # noqa: ARG002 - a process that lives needs none
        until: float | None,
    ) -> Standing:
        now = self._clock()
        with self._file.transaction() as connection:
            process = self._lock.hold()
            self._purge(connection, now)
            spent = _opened(connection, account, until)
            expired = self._expire(connection, account, now)
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
            own = connection.execute(
                "SELECT tokens, nano FROM spanhook_reservations WHERE id = ?", (reservation,)
            ).fetchone()
            mine = Amounts() if own is None else Amounts(*own)
            others = Amounts(held.tokens - mine.tokens, held.nano - mine.nano)
            granted = caps.allow(spent + others + amounts)
            if granted:
                connection.execute(
                    "INSERT OR REPLACE INTO spanhook_reservations VALUES (?, ?, ?, ?, ?, 0, ?)",
                    (reservation, account, *amounts, now, process),
                )
                held = others + amounts
        return self._reported(Standing(spent, held, expired, granted))

    def settle(
        self, account: str, reservation: str, amounts: Amounts, until: float | None, *, again: bool = False
    ) -> Standing:
        with self._file.transaction() as connection:
            if again:
                is_there = "SELECT 1 FROM spanhook_accounts WHERE name = ?"
                again = connection.execute(is_there, (account,)).fetchone() is not None
            spent = _opened(connection, account, until)
            known = connection.execute("DELETE FROM spanhook_reservations WHERE id = ?", (reservation,)).rowcount
            if known or not again:
                spent += amounts
                connection.execute(
                    "UPDATE spanhook_accounts SET tokens = ?, nano = ? WHERE name = ?", (*spent, account)
                )
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
        return Standing(spent, held)

    def extend(self, account: str, reservation: str, lease_s: float) -> None:  # noqa: ARG002 - the process lives
        if not self._lock.is_held():  # somebody has deleted the file
            with self._file.transaction():
                self._lock.hold()

    def standing(self, account: str) -> Standing:
        now = self._clock()
        with self._file.transaction() as connection:
            row = connection.execute("SELECT tokens, nano FROM spanhook_accounts WHERE name = ?", (account,)).fetchone()
            expired = self._expire(connection, account, now)
            held = Amounts(*connection.execute(_HELD, (account,)).fetchone())
        return self._reported(Standing(Amounts(*row) if row else Amounts(), held, expired))

    def close(self) -> None:
        self._file.close()

    def _expire(self, connection: Connection, account: str, now: float) -> int:
        """Free what processes that have ended had reserved from an account; returns how many reservations.

        They are known for another day: a process whose file somebody has deleted lives, and settles them.
        """
        processes = connection.execute(
            "SELECT DISTINCT process FROM spanhook_reservations WHERE account = ? AND freed = 0", (account,)
        ).fetchall()
        return sum(
            connection.execute(
                "UPDATE spanhook_reservations SET tokens = 0, nano = 0, freed = 1, ends = ? "
                "WHERE account = ? AND freed = 0 AND process = ?",
                (now + MARGIN_S, account, process),
            ).rowcount
            for (process,) in processes
            if self._lock.has_ended(process)
        )

    def _reported(self, standing: Standing) -> Standing:
        if standing.expired:
            log.warning(
                "spanhook: %s: %d reservations are free again, as their processes have ended",
                self.shown,
                standing.expired,
            )
        return standing

    def _purge(self, connection: Connection, now: float) -> None:
        """Once a minute, forget what nobody will ask for: reservations that were freed, accounts whose time is over,
        and files of processes that have ended.
        """
        if self._purged <= now < self._purged + _PURGE_S:  # a clock that was set back does not stop it
            return
        connection.execute("DELETE FROM spanhook_reservations WHERE freed = 1 AND ends < ?", (now,))
        processes = connection.execute("SELECT DISTINCT process FROM spanhook_reservations WHERE freed = 0").fetchall()
        for (process,) in processes:
            if self._lock.has_ended(process):
                connection.execute(
                    "DELETE FROM spanhook_reservations WHERE freed = 0 AND process = ? AND account IN "
                    "(SELECT name FROM spanhook_accounts WHERE until < ?)",
                    (process, now - MARGIN_S),
                )
        connection.execute(
            "DELETE FROM spanhook_accounts WHERE until < ? AND NOT EXISTS (SELECT 1 FROM spanhook_reservations "
            "WHERE account = spanhook_accounts.name AND freed = 0)",
            (now - MARGIN_S,),
        )
        self._lock.clean()
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
