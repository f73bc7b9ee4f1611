"""Each test of a database runs on SQLite and on a real PostgreSQL."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from spanhook.store.control import Database, Ingestor

if find_spec("sqlalchemy") is None:  # the extra is not in every environment
    collect_ignore_glob = ["test_*.py"]


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
