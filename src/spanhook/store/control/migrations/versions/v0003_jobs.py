"""Background runs, their events, and states of schedules."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "spanhook_jobs",
        sa.Column("job_id", sa.Text(), nullable=False),
        *(_text(name) for name in ("tenant_id", "agent", "status", "worker")),
        *(_number(name) for name in ("lease_ns", "created_ns")),
        sa.Column("ended_ns", _BIG, nullable=True),
        sa.Column("request_key", sa.Text(), nullable=True),
        sa.Column("job", sa.Text(), nullable=False, server_default="null"),
        sa.PrimaryKeyConstraint("job_id", name="pk_spanhook_jobs"),
    )
    indexes = ("tenant_id", "created_ns", "job_id"), ("created_ns", "job_id"), ("status", "lease_ns"), ("ended_ns",)
    for columns in indexes:
        op.create_index(f"ix_spanhook_jobs_{'_'.join(columns)}", "spanhook_jobs", list(columns))
    unique = ["tenant_id", "agent", "request_key"]
    op.create_index("uq_spanhook_jobs_request_key", "spanhook_jobs", unique, unique=True)
    op.create_table(
        "spanhook_job_events",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("event_id", _BIG, nullable=False, autoincrement=False),
        _text("type"),
        sa.Column("data", sa.Text(), nullable=False, server_default="null"),
        _number("time_ns"),
        sa.PrimaryKeyConstraint("job_id", "event_id", name="pk_spanhook_job_events"),
    )
    op.create_table(
        "spanhook_schedules",
        sa.Column("schedule_key", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("schedule_key", name="pk_spanhook_schedules"),
    )


def _text(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=False, server_default="")


def _number(name: str) -> sa.Column[Any]:
    return sa.Column(name, _BIG, nullable=False, server_default=sa.text("0"), autoincrement=False)
