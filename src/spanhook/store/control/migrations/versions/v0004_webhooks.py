"""Webhooks and their outbox."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_WEBHOOKS, _DELIVERIES = "spanhook_webhooks", "spanhook_webhook_deliveries"


def upgrade() -> None:
    """Add the tables of webhooks."""
    op.create_table(
        _WEBHOOKS,
        sa.Column("webhook_id", sa.Text(), nullable=False),
        *map(_text, ("tenant_id", "url", "description")),
        sa.Column("events", sa.Text(), nullable=False, server_default="null"),
        *map(_flag, ("enabled", "ordered")),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("secret_before", sa.LargeBinary(), nullable=False),
        *map(_number, ("before_until_ns", "failures")),
        _text("disabled_reason"),
        *map(_number, ("version", "created_ns", "updated_ns")),
        sa.PrimaryKeyConstraint("webhook_id", name=f"pk_{_WEBHOOKS}"),
    )
    _index(_WEBHOOKS, "tenant_id", "created_ns", "webhook_id")
    op.create_table(
        _DELIVERIES,
        sa.Column("id", _BIG, nullable=False, autoincrement=True),
        *map(_text, ("delivery_id", "webhook_id", "tenant_id", "event_id", "event_type")),
        *map(_text, ("body", "traceparent", "state")),
        *map(_number, ("attempts", "due_ns")),
        _text("lease"),
        _number("leased_until_ns"),
        sa.Column("tried", sa.Text(), nullable=False, server_default="null"),
        *map(_number, ("created_ns", "ended_ns")),
        sa.PrimaryKeyConstraint("id", name=f"pk_{_DELIVERIES}"),
    )
    op.create_index(f"uq_{_DELIVERIES}_delivery_id", _DELIVERIES, ["delivery_id"], unique=True)
    _index(_DELIVERIES, "state", "created_ns")
    _index(_DELIVERIES, "ended_ns")
    _index(_DELIVERIES, "webhook_id", "state", "due_ns")
    _index(_DELIVERIES, "webhook_id", "state", "id")
    _index(_DELIVERIES, "webhook_id", "id")


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _text(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=False, server_default="")


def _number(name: str) -> sa.Column[Any]:
    return sa.Column(name, _BIG, nullable=False, server_default=sa.text("0"))


def _flag(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text("false"))
