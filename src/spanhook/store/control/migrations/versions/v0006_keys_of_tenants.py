"""Keys of tenants have no ``hooks:admin``, which is for what all tenants have in common."""

import json

import sqlalchemy as sa
from alembic import op

from spanhook.diagnostics import log
from spanhook.store.control.migrations.changing import as_json, record

revision = "0006"
down_revision = "0005"

_OPERATORS = "hooks:admin"
_OF_TENANTS = ("hooks:manage", "policies:manage")


def upgrade() -> None:
    """Give these keys the scopes of tenants in place of it."""
    connection = op.get_bind()
    changed: list[str] = []
    query = "SELECT key_id, tenant_id, name, scopes FROM spanhook_api_keys WHERE tenant_id <> '' ORDER BY key_id"
    for row in connection.execute(sa.text(query)).all():
        before: list[str] = json.loads(row.scopes) or []
        if _OPERATORS not in before:
            continue
        after = sorted({*before, *_OF_TENANTS} - {_OPERATORS})
        statement = "UPDATE spanhook_api_keys SET scopes = :scopes WHERE key_id = :key"
        connection.execute(sa.text(statement), {"scopes": as_json(after), "key": row.key_id})
        facts = {"name": row.name, "scopes": after, "scopes_before": sorted(before)}
        record(connection, revision, "key.update", row.key_id, row.tenant_id, facts)
        changed.append(f"{row.key_id} ({row.name!r}, tenant {row.tenant_id!r})")
    if changed:
        log.warning(
            "spanhook: keys of tenants no longer have %s, which is for operators. These have %s in its place: %s",
            _OPERATORS,
            " and ".join(_OF_TENANTS),
            ", ".join(changed),
        )
