"""Frames in an SQLite file, which outlives the process."""

import json
import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self, cast

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store._sqlite_file import SQLiteFile
from spanhook.store.frames import MOST_FRAMES, Frame, FrameType, SessionStatistics

SCHEMA_VERSION = 1

_SCHEMA = (
    """CREATE TABLE spanhook_frames (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant_id TEXT NOT NULL, session_id TEXT NOT NULL,
        type TEXT NOT NULL, iteration INTEGER NOT NULL, content TEXT NOT NULL, importance INTEGER NOT NULL,
        tags TEXT NOT NULL, success INTEGER, time_ns INTEGER NOT NULL, details TEXT NOT NULL)""",
    "CREATE INDEX spanhook_frames_by_session ON spanhook_frames (tenant_id, session_id, number)",
    "CREATE INDEX spanhook_frames_by_type ON spanhook_frames (tenant_id, type, number)",
)
_COLUMNS = "id, session_id, type, content, tenant_id, iteration, importance, tags, success, time_ns, details"
_ADD = f"INSERT OR IGNORE INTO spanhook_frames ({_COLUMNS}) VALUES ({', '.join('?' * 11)})"  # noqa: S608 - ours
_RECENT = f"SELECT {_COLUMNS} FROM spanhook_frames WHERE tenant_id = ?{{}} ORDER BY number DESC LIMIT ?"  # noqa: S608 - ours
_STATISTICS = """SELECT COUNT(*), SUM(type = 'iteration'), SUM(type = 'iteration' AND success IS 1),
    SUM(type = 'iteration' AND success IS 0), SUM(type = 'error'), SUM(type = 'decision'),
    MAX(type = 'completion'), MAX(iteration), MIN(time_ns), MAX(time_ns)
    FROM spanhook_frames WHERE tenant_id = ? AND session_id = ?"""


class SQLiteFrames:
    """Stores frames in an SQLite file. Threads and processes can share it; a forked child reopens it.

    Args:
        path: The file. It is created if necessary, in an existing folder. Other tables in it are not touched.

    Raises:
        ConfigurationError: It cannot be opened, is not a database, or was written by a newer spanhook.
    """

    blocking = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given: Any = os.fspath(path)
        self._path: str = os.path.abspath(given)
        if given in ("", ":memory:"):
            raise ConfigurationError(
                f"SQLiteFrames({path!r}): expected a file; for frames in memory, use MemoryFrames()"
            )
        self._file = SQLiteFile(self._path, "frames", SCHEMA_VERSION, _SCHEMA)
        self._closed = False
        try:
            with self._connected():
                pass
        except ConfigurationError:
            raise
        except (StoreError, ValueError) as error:
            raise ConfigurationError(
                f"SQLiteFrames({path!r}) cannot be opened: {error.__cause__ or error}; expected an SQLite database, "
                "or a new file in a folder that is there"
            ) from error

    def close(self) -> None:
        """Close the file. Using it afterwards is an error; closing it again is not."""
        self._closed = True
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # ----------------------------------------------------------------- frames

    def add(self, frame: Frame) -> None:
        row = (
            frame.id,
            frame.session_id,
            frame.type,
            frame.content,
            frame.tenant_id,
            frame.iteration,
            frame.importance,
            json.dumps(frame.tags),
            frame.success,
            frame.time_ns,
            json.dumps(dict(frame.details)),
        )
        with self._connected() as connection:
            connection.execute(_ADD, row)

    def recent(
        self, limit: int, *, tenant_id: str = "", session_id: str | None = None, type: FrameType | None = None
    ) -> list[Frame]:
        asked = {"session_id": session_id, "type": type}
        given = {name: value for name, value in asked.items() if value is not None}
        query = _RECENT.format("".join(f" AND {name} = ?" for name in given))
        with self._connected() as connection:
            values = (tenant_id, *given.values(), max(0, min(limit, MOST_FRAMES)))
            rows = connection.execute(query, values).fetchall()
        return [_frame(row) for row in reversed(rows)]

    def statistics(self, session_id: str, *, tenant_id: str = "") -> SessionStatistics:
        with self._connected() as connection:
            row = connection.execute(_STATISTICS, (tenant_id, session_id)).fetchone()
        if not row[0]:
            return SessionStatistics()
        return SessionStatistics(
            frames=row[0],
            iterations=row[1],
            succeeded=row[2],
            failed=row[3],
            errors=row[4],
            decisions=row[5],
            completed=bool(row[6]),
            last_iteration=row[7],
            first_ns=row[8],
            last_ns=row[9],
        )

    # ----------------------------------------------------------------- the file

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        if self._closed:
            raise ValueError(f"SQLiteFrames({self._path!r}) has been closed; make another")
        with self._file.transaction() as connection:
            yield connection


def _frame(row: tuple[Any, ...]) -> Frame:
    success = row[8]
    return Frame(
        id=row[0],
        session_id=row[1],
        type=row[2],
        content=row[3],
        tenant_id=row[4],
        iteration=row[5],
        importance=row[6],
        tags=tuple(cast("list[str]", json.loads(row[7]))),
        success=None if success is None else bool(success),
        time_ns=row[9],
        details=json.loads(row[10]),
    )
