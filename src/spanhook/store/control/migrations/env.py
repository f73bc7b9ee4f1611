"""What Alembic runs for each migration."""

from alembic import context

from spanhook.store.control.migrating import VERSIONS
from spanhook.store.control.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSIONS,
    transaction_per_migration=False,
)
context.run_migrations()
