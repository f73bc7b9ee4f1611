"""The tables that are declared are those that migrations make."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection

from spanhook.store.control import Database, tables
from spanhook.store.control.migrating import VERSIONS

pytestmark = pytest.mark.anyio


async def test_migrations_make_the_tables_that_are_declared(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"version_table": VERSIONS})
        return compare_metadata(context, tables.metadata)

    async with database.reading() as connection:
        assert not await connection.run_sync(differences)
