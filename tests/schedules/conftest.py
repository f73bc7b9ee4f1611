"""The PostgreSQL server of the tests of stores."""

from tests.store.conftest import postgres_port, postgres_url

__all__ = ["postgres_port", "postgres_url"]
