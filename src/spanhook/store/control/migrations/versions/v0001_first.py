"""The first tables."""

from alembic import op

from spanhook.store.control.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create all tables."""
    metadata.create_all(op.get_bind())
