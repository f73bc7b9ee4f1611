"""What an SQLite file needs of memory does not depend on how much goes through it."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Engine, event

from spanhook import semconv
from spanhook.store.control import Database, Ingestor, Retention, RetentionLimits, sqlite
from tests.store.control.otlp import send_spans

pytestmark = pytest.mark.anyio
MOST_KIB = 128 * 1024
SIZE = 1_000_000


class Seen:
    """What the connections of a database to its file have done.

    Attributes:
        statements: The statements that were executed.
        caches: The pages in KiB that each connection may cache.
    """

    def __init__(self) -> None:
        self.statements, self.caches = set[str](), list[int]()

    def watch(self, engine: Engine) -> None:
        event.listen(engine, "before_cursor_execute", self._execute)
        event.listen(engine, "connect", self._connect)

    def _execute(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        self.statements.add(statement)

    def _connect(self, connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA cache_size")
        self.caches.append(-cursor.fetchone()[0])
        cursor.close()


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Database, Seen]]:
    seen = Seen()
    listen = sqlite._listen  # pyright: ignore[reportPrivateUsage]

    def watched(engine: Engine, *given: Any) -> None:
        listen(engine, *given)
        seen.watch(engine)

    monkeypatch.setattr(sqlite, "_listen", watched)
    database = await Database.open(f"sqlite:///{tmp_path / 'spanhook.db'}")
    yield database, seen
    await database.close()


def _spans(number: int) -> list[Span]:
    """So many of one number that keys are looked up in ever other portions."""
    found = [
        Span(trace_id=number.to_bytes(16, "big"), span_id=(place + 1).to_bytes(8, "big"), start_time_unix_nano=1)
        for place in range(100 + 7 * number % 61)
    ]
    for place, one in enumerate(found):
        one.attributes.add(key="content").value.string_value = f"{number} {place}" * 100
        one.attributes.add(key=semconv.RUN_ID).value.string_value = f"run-{number}-{place // (1 + number % 5)}"
        one.attributes.add(key=semconv.KIND).value.string_value = "tool.execute"
    return found


async def test_turnovers_of_what_is_kept_need_no_more_memory(opened: tuple[Database, Seen]) -> None:
    database, seen = opened
    ingestor, retention = Ingestor(database), Retention(database, RetentionLimits(age_s=0, size_bytes=SIZE))

    async def turn_over(numbers: range) -> None:
        for number in numbers:
            await send_spans(ingestor, _spans(number))
            await retention.sweep()

    try:
        await turn_over(range(1, 40))
        gc.collect()
        objects, connections, statements = len(gc.get_objects()), len(seen.caches), len(seen.statements)
        deleted = retention.figures.deleted["spanhook_spans"]
        await turn_over(range(40, 120))
        gc.collect()
    finally:
        await ingestor.close()
    assert retention.figures.deleted["spanhook_spans"] - deleted > 5_000
    assert len(gc.get_objects()) < objects + 1_000
    assert len(seen.caches) == connections <= 3  # one writes telemetry, one reads, and one has made the tables
    assert len(seen.statements) < statements + 10
    assert len(seen.statements) < 150


async def test_caches_are_small_however_many_connections_there_are(opened: tuple[Database, Seen]) -> None:
    database, seen = opened
    pool: Any = database.engine.pool
    with database.reading_here(), database.writing_here():
        pass
    assert max(seen.caches) == sqlite.WRITER_CACHE_KIB
    assert sum(sorted(seen.caches)[-2:]) + pool.size() * sqlite.CACHE_KIB <= MOST_KIB


async def test_one_connection_gives_back_what_is_free(opened: tuple[Database, Seen]) -> None:
    database, seen = opened
    database.give_back(10)
    database.give_back(10)
    with database.writing_here() as connection:
        connection.exec_driver_sql("UPDATE spanhook_settings SET updated_ns = 1")
    assert seen.caches.count(sqlite.WRITER_CACHE_KIB) == 1


async def test_a_thread_that_waits_for_its_turn_keeps_no_event_loop_waiting(opened: tuple[Database, Seen]) -> None:
    database, _ = opened
    with database.writing_here() as connection:
        own: Any = connection.connection.driver_connection
        cursors = [own.execute("SELECT 1 UNION SELECT 2")]  # it has more to give

    def write() -> None:
        with database.writing_here():
            pass

    async with database.writing():
        waiting = asyncio.create_task(asyncio.to_thread(write))
        await asyncio.sleep(0.1)
        begun = time.monotonic()
        cursors.clear()
        took = time.monotonic() - begun
    await waiting
    assert took < sqlite.BUSY_MS / 2_000
