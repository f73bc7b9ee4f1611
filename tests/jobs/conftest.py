"""Each test of a store runs on all of them; those in a database on SQLite and on a real PostgreSQL."""

from importlib.util import find_spec

from tests.store.conftest import postgres_port, postgres_url
from tests.store.control.conftest import database, migrated_file, migrated_postgres, url

__all__ = ["database", "migrated_file", "migrated_postgres", "postgres_port", "postgres_url", "url"]

collect_ignore = [] if find_spec("sqlalchemy") else ["test_sql_jobs.py"]
"""The extra `server` is not in every environment."""
