"""Each test of a database runs on SQLite and on a real PostgreSQL."""

from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from spanhook.cli.conformance.servers.postgres_server import PROGRAMS, USER, running_postgres

if TYPE_CHECKING:
    from spanhook.store.control import Database, Ingestor

if find_spec("sqlalchemy") is None:  # the extra is not in every environment
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def postgres_port() -> Iterator[int]:
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not installed")
    with running_postgres() as port:
        yield port


@pytest.fixture
def postgres_url(postgres_port: int) -> Iterator[str]:
    """An empty database of its own."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    name = f"test_{uuid4().hex}"
    server = f"postgresql://{USER}@127.0.0.1:{postgres_port}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield f"{server}/{name}"
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/spanhook.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture
async def database(url: str) -> "AsyncIterator[Database]":
    from spanhook.store.control import Database

    opened = await Database.open(url)
    yield opened
    await opened.close()


@pytest.fixture
async def ingestor(database: "Database") -> "AsyncIterator[Ingestor]":
    from spanhook.store.control import Ingestor

    made = Ingestor(database)
    yield made
    await made.close()
