"""What is asked of a database, and by which indexes it finds the answers."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event, text

from spanhook.store.control import Database


@contextmanager
def asked_of(database: Database) -> Generator[list[tuple[str, Any]]]:
    """The statements that are executed, with their parameters."""
    found: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            found.append((statement, parameters))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)


async def plan_of(database: Database, asked: list[tuple[str, Any]]) -> list[str]:
    """How the database executes statements, a line for each step."""
    sqlite = database.dialect == "sqlite"
    lines: list[str] = []
    async with database.reading() as connection:
        if not sqlite:
            await connection.execute(text("SET LOCAL enable_seqscan = off"))  # few rows are read whole otherwise
        for statement, parameters in asked:
            explain = "EXPLAIN QUERY PLAN" if sqlite else "EXPLAIN"
            lines += [
                str(row[-1]) for row in await connection.exec_driver_sql(f"{explain} {statement}", parameters or None)
            ]
    return lines
