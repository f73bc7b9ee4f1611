"""A PostgreSQL server for the tests of stores."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from uuid import uuid4

import pytest

from spanhook.cli.conformance.servers.postgres_server import PROGRAMS, USER, running_postgres
from tests.programs import need


@pytest.fixture(scope="session")
def postgres_port() -> Iterator[int]:
    need("postgresql", PROGRAMS)
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    with running_postgres() as port:
        yield port


@pytest.fixture
def postgres_url(postgres_port: int) -> Iterator[str]:
    """An empty database of its own."""
    with created(postgres_port) as url:
        yield url


@contextmanager
def created(port: int, template: str = "template1") -> Generator[str]:
    """A new database on a PostgreSQL server, as the template is."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    name = f"test_{uuid4().hex}"
    server = f"postgresql://{USER}@127.0.0.1:{port}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(name), Identifier(template)))
        yield f"{server}/{name}"
        connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
