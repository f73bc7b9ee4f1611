"""What processes have counted of their hooks."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add what was counted when a process last reported."""
    column: sa.Column[str] = sa.Column("executions", sa.Text(), nullable=False, server_default="null")
    op.add_column("spanhook_processes", column)
