"""Each test of a database runs on SQLite and on a real PostgreSQL."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.store.conftest import created

if TYPE_CHECKING:
    from spanhook.store.control import Database, Ingestor

if find_spec("sqlalchemy") is None:  # the extra is not in every environment
    collect_ignore_glob = ["test_*.py", "migrations/versions/test_*.py"]


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in a file, with its tables and nothing in them. Tests copy it, which is sooner done than migrating."""
    path = tmp_path_factory.mktemp("migrated") / "spanhook.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres_port: int) -> Iterator[str]:
    """The name of the same on PostgreSQL."""
    with created(postgres_port) as url:
        migrate(url)
        yield url.rpartition("/")[2]


def migrate(url: str) -> None:
    """Give a database its tables."""
    from spanhook.store.control import Database

    async def opened() -> None:
        await (await Database.open(url)).close()

    asyncio.run(opened())


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a database of its own: an empty one, unless the test has it opened."""
    migrated = "database" in request.fixturenames
    if request.param == "sqlite":
        path = tmp_path / "spanhook.db"
        if migrated:
            shutil.copy(request.getfixturevalue("migrated_file"), path)
        yield f"sqlite:///{path}"
    elif migrated:
        port, template = request.getfixturevalue("postgres_port"), request.getfixturevalue("migrated_postgres")
        with created(port, template) as copied:
            yield copied
    else:
        yield request.getfixturevalue("postgres_url")


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
