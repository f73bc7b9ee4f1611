"""Each test runs with a real Redis and an SQLite file, and with a real PostgreSQL for both."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.jobs.workers.processes import Place
from tests.redis_server import RedisProcess, running_redis
from tests.store.conftest import created, postgres_port, postgres_url
from tests.store.control.conftest import migrated_file, migrated_postgres

__all__ = ["migrated_file", "migrated_postgres", "postgres_port", "postgres_url"]

if any(find_spec(name) is None for name in ("saq", "psycopg_pool", "fastapi")):  # in an environment of its own
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def redis() -> Iterator[RedisProcess]:
    """A Redis of the test's own."""
    with running_redis() as server:
        yield server


@pytest.fixture(params=["redis", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where queue and database are."""
    if request.param == "redis":
        shutil.copy(request.getfixturevalue("migrated_file"), tmp_path / "spanhook.db")
        yield Place(tmp_path, request.getfixturevalue("redis").url, f"sqlite:///{tmp_path / 'spanhook.db'}")
        return
    port, template = request.getfixturevalue("postgres_port"), request.getfixturevalue("migrated_postgres")
    with created(port, template) as url:
        yield Place(tmp_path, url, url)
