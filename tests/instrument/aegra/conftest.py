"""Servers for the tests of Aegra: its databases once, and applications with and without its broker."""

from collections.abc import Generator

import pytest

from spanhook.cli.conformance.servers.postgres_server import PROGRAMS, running_postgres
from tests.instrument.aegra.serving import TRACED, Application, application, has, served
from tests.programs import need
from tests.redis_server import RedisProcess, running_redis


@pytest.fixture(scope="package")
def postgres() -> Generator[int]:
    need("postgresql", PROGRAMS)
    with running_postgres() as port:
        yield port


@pytest.fixture(scope="package")
def redis() -> Generator[RedisProcess]:
    if not has("services.worker_executor"):
        pytest.skip("this version of Aegra has no workers")
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module", params=["in process", "with the broker"])
def everywhere(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: int
) -> Generator[Application]:
    """An application, whose runs are executed in its own process, or taken from the queue."""
    folder = application(tmp_path_factory.mktemp("application"))
    address = request.getfixturevalue("redis").url if request.param == "with the broker" else ""
    with served(folder, postgres, address, **TRACED) as app:
        yield app


@pytest.fixture
def app(everywhere: Application) -> Application:
    everywhere.forget()
    return everywhere
