"""Brings the tables of a database to this version of spanhook."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from spanhook.errors import ConfigurationError

VERSIONS = "spanhook_schema_version"
_LOCK = 0x7370616E686F6F6B  # "spanhook"


def migrate(connection: Connection, to: str = "head") -> None:
    """Apply the migrations that are missing, in the transaction of ``connection``: all of them or none.

    Processes that start at once wait for each other: SQLite has one writer, and PostgreSQL an advisory lock.

    Args:
        connection: A transaction that writes.
        to: The last migration to apply; by default the newest.

    Raises:
        ConfigurationError: The tables are those of a newer version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    current = MigrationContext.configure(connection, opts={"version_table": VERSIONS}).get_current_revision()
    known = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    if current is not None and current not in known:
        raise ConfigurationError(
            f"the database is of a newer spanhook (schema {current}): start that version, or use another database"
        )
    command.upgrade(config, to)
