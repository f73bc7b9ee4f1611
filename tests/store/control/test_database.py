"""Opening, migrating, and what becomes of a database when something goes wrong."""

import asyncio
import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from multiprocessing.connection import Connection as PipeConnection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, inspect, select, text
from sqlalchemy.exc import IntegrityError

from spanhook.errors import ConfigurationError, StoreError
from spanhook.store.control import Database, Ingestor, RunFilter, runs_page, tables, usage_by
from tests.store.control.otlp import run_of, send_spans

pytestmark = pytest.mark.anyio
VERSIONS = "spanhook_schema_version"


async def test_opening_again_changes_nothing(url: str) -> None:
    for name in ("first", "second"):
        database = await Database.open(url)
        async with database.writing() as connection:
            await connection.execute(insert(tables.settings).values(key=name, value={"a": [1, None]}))
        await database.close()
    database = await Database.open(url)
    async with database.reading() as connection:
        assert (await connection.execute(select(tables.settings.c.key))).scalars().all() == ["first", "second"]
    await database.close()


async def test_opened_by_many_at_once(url: str) -> None:
    opened = await asyncio.gather(*(Database.open(url) for _ in range(8)))
    async with opened[0].reading() as connection:
        assert (await connection.execute(text(f"SELECT count(*) FROM {VERSIONS}"))).scalar_one() == 1
    for one in opened:
        await one.close()


_OPEN = """
import asyncio, sys
from spanhook.store.control import Database

async def main():
    await (await Database.open(sys.argv[1])).close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_opened_by_processes_at_once(url: str) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", _OPEN, url], stderr=subprocess.PIPE, env=os.environ) for _ in range(3)
    ]
    ended = [one.communicate() for one in started]
    assert [one.returncode for one in started] == [0] * 3, ended


async def test_other_tables_in_the_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "spanhook.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    database = await Database.open(f"sqlite:///{path}")
    async with database.reading() as reading:
        names = await reading.run_sync(lambda one: inspect(one).get_table_names())
    assert "other" in names
    await database.close()


async def test_a_filled_older_database_is_brought_up_to_date(url: str) -> None:
    database = await Database.open(url)
    ingestor = Ingestor(database)
    await send_spans(ingestor, run_of(1))
    async with database.writing() as connection:
        await connection.execute(insert(tables.audit).values(sequence=1, entry="{}", hash="a"))
        await connection.execute(insert(tables.processes).values(process_id="one", hooks=[{"name": "h"}]))
        await connection.execute(text("ALTER TABLE spanhook_processes DROP COLUMN executions"))
        await connection.execute(text("ALTER TABLE spanhook_hooks ADD COLUMN priority BIGINT NOT NULL DEFAULT 0"))
        for table in (tables.webhooks, tables.webhook_deliveries, tables.jobs, tables.job_events, tables.schedules):
            await connection.run_sync(table.drop)
        await connection.execute(text(f"UPDATE {VERSIONS} SET version_num = '0001'"))
    await ingestor.close()
    await database.close()
    database = await Database.open(url)
    async with database.reading() as connection:
        assert (await connection.execute(text(f"SELECT version_num FROM {VERSIONS}"))).scalar_one() == "0006"
        for table, count in ((tables.runs, 1), (tables.spans, 4), (tables.audit, 1)):
            assert (await connection.execute(select(func.count()).select_from(table))).scalar_one() == count
        [process] = (await connection.execute(select(tables.processes))).all()
    assert (process.hooks, process.executions) == ([{"name": "h"}], None)
    await database.close()


async def test_a_newer_database_is_refused(url: str) -> None:
    database = await Database.open(url)
    async with database.writing() as connection:
        await connection.execute(text(f"UPDATE {VERSIONS} SET version_num = 'of-the-future'"))
    await database.close()
    with pytest.raises(ConfigurationError, match="newer spanhook"):
        await Database.open(url)


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///:memory:", "mysql://a/b", "postgresql://a:secret@/", "", "sqlite:////no/such/folder/x.db"],
)
async def test_addresses_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await Database.open(url)
    assert "secret" not in str(raised.value)


async def test_a_server_that_is_away() -> None:
    with pytest.raises(StoreError) as raised:
        await Database.open("postgresql://someone:secret@127.0.0.1:9/spanhook")
    assert "secret" not in str(raised.value)


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "spanhook.db"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        await Database.open(f"sqlite:///{path}")


async def test_what_is_written_is_all_or_nothing(database: Database) -> None:
    row = {"key": "a", "value": "\0\ud800"}
    with pytest.raises(ZeroDivisionError):
        async with database.writing() as connection:
            await connection.execute(insert(tables.settings).values(row))
            raise ZeroDivisionError
    async with database.writing() as connection:
        await connection.execute(insert(tables.settings).values(row))
    with pytest.raises(IntegrityError):
        async with database.writing() as connection:
            await connection.execute(insert(tables.settings).values(row))
    async with database.reading() as connection:
        assert (await connection.execute(select(tables.settings.c.value))).scalars().all() == ["\0\ud800"]
    await database.ping()


async def test_many_writers_lose_nothing(url: str) -> None:
    """32 at once, over four connections to the database of their own, as four processes would."""
    databases = await asyncio.gather(*(Database.open(url) for _ in range(4)))
    ingestors = [Ingestor(one) for one in databases]

    async def write(number: int) -> None:
        for one in range(8):
            await send_spans(ingestors[number % 4], run_of(number * 8 + one + 1))

    await asyncio.gather(*map(write, range(32)))
    async with databases[0].reading() as connection:
        for table, count in ((tables.runs, 256), (tables.spans, 1024)):
            assert (await connection.execute(select(func.count()).select_from(table))).scalar_one() == count
    [row] = await usage_by(databases[0], None, ())
    assert (row.used.calls, row.used.input_tokens) == (512, 51_200)
    for ingestor, database in zip(ingestors, databases, strict=True):
        await ingestor.close()
        await database.close()


def _write_until_killed(url: str, told: "PipeConnection[Any, Any]") -> None:
    async def main() -> None:
        ingestor = Ingestor(await Database.open(url))

        async def write(first: int) -> None:
            for number in range(first, 10**6, 8):
                await send_spans(ingestor, run_of(number))
                told.send_bytes(str(number).encode())

        await asyncio.gather(*(write(one + 1) for one in range(8)))

    asyncio.run(main())


async def test_nothing_that_was_acknowledged_is_lost_when_killed(url: str) -> None:
    receiving, sending = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_write_until_killed, args=(url, sending))
    process.start()
    sending.close()
    acknowledged = {f"run-{receiving.recv_bytes().decode()}" for _ in range(60)}
    os.kill(process.pid or 0, signal.SIGKILL)
    try:
        while True:
            acknowledged.add(f"run-{receiving.recv_bytes().decode()}")
    except EOFError:
        process.join()
    database = await Database.open(url)
    async with database.reading() as connection:
        rows = (await connection.execute(select(tables.runs.c.run_id, tables.runs.c.spans))).all()
    assert {run_id for run_id, _ in rows} >= acknowledged
    assert {spans for _, spans in rows} == {4}
    [usage] = await usage_by(database, None, ())
    assert usage.used.calls == 2 * len(rows)
    await database.close()


_FILL = """
import asyncio, resource, signal, sys
from spanhook.errors import StoreError
from spanhook.store.control import Database, Ingestor
from tests.store.control.otlp import run_of, send_spans

async def main():
    database = await Database.open(sys.argv[1])
    ingestor = Ingestor(database)
    await send_spans(ingestor, run_of(1))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
    number = 1
    try:
        for number in range(2, 10_000):
            await send_spans(ingestor, run_of(number))
    except StoreError as error:
        print(number, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await send_spans(ingestor, run_of(10_000))
    await ingestor.close()
    await database.close()

asyncio.run(main())
"""


async def test_a_full_disk_is_an_error_and_no_damage(tmp_path: Path) -> None:
    """Files that may not grow stand for it: the kernel refuses to write either way."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    url = f"sqlite:///{tmp_path}/spanhook.db"
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", _FILL, url],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert ran.returncode == 0, ran.stderr
    first_lost, said = ran.stdout.split(" ", 1)
    assert "secret" not in said
    database = await Database.open(url)
    async with database.reading() as connection:
        assert (await connection.execute(text("PRAGMA integrity_check"))).scalar_one() == "ok"
        found = set((await connection.execute(select(tables.runs.c.run_id))).scalars())
    assert found == {f"run-{number}" for number in (*range(1, int(first_lost)), 10_000)}
    assert (await runs_page(database, None, RunFilter(), limit=1)).rows
    await database.close()


def test_the_core_works_without_the_extra() -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; import spanhook.store, spanhook.cli; print('alembic' in sys.modules)"  # noqa: E501
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


async def test_errors_do_not_have_what_was_to_be_written(database: Database) -> None:
    """They come into the log, and definitions of hooks may have secrets."""
    twice = insert(tables.settings).values(key="one", value={"token": "a secret"})
    with pytest.raises(IntegrityError) as error:
        async with database.writing() as connection:
            await connection.execute(twice)
            await connection.execute(twice)
    with pytest.raises(IntegrityError) as here, database.writing_here() as other:
        other.execute(twice)
        other.execute(twice)
    assert "a secret" not in f"{error.value} {here.value}"
