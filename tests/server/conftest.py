"""Each test of what is kept in the database runs on SQLite and on a real PostgreSQL."""

from importlib.util import find_spec

from tests.store.conftest import postgres_port, postgres_url
from tests.store.control.conftest import database, migrated_file, migrated_postgres, url

__all__ = ["database", "migrated_file", "migrated_postgres", "postgres_port", "postgres_url", "url"]

if any(
    find_spec(name) is None for name in ("fastapi", "sqlalchemy", "jwt", "jinja2", "sse_starlette", "standardwebhooks")
):  # the extra is not in every environment
    collect_ignore_glob = ["test_*.py", "pages/test_*.py", "routes/test_*.py"]
else:
    collect_ignore = [
        file
        for file, needed in (
            ("test_fuzzing.py", "schemathesis"),
            ("test_openid.py", "authlib"),
            ("pages/test_openid.py", "authlib"),
        )
        if find_spec(needed) is None  # neither are these
    ]
