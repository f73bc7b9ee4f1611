"""Keys of tenants have no ``hooks:admin``, which is for what all tenants have in common."""

import json
from collections.abc import Iterator

import sqlalchemy as sa
import yaml
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
    admins: dict[str, str] = {}
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
        admins[row.key_id] = row.tenant_id
        changed.append(f"{row.key_id} ({row.name!r}, tenant {row.tenant_id!r})")
    if changed:
        log.warning(
            "spanhook: keys of tenants no longer have %s, which is for operators. These have %s in its place: %s",
            _OPERATORS,
            " and ".join(_OF_TENANTS),
            ", ".join(changed),
        )
    shared = [*_policies(connection, admins), *_hooks(connection, admins)]
    if shared:
        log.warning(
            "spanhook: keys of tenants have changed what is the operator's, and it is still so; correct what is not "
            "wanted: %s",
            ", ".join(shared),
        )


def _policies(connection: sa.Connection, admins: dict[str, str]) -> Iterator[str]:
    """Policies in force for all tenants, and modes and settings in those of one, that a tenant has put there."""
    query = (
        "SELECT tenant_id, version, actor, content FROM spanhook_policies WHERE version IN "
        "(SELECT max(version) FROM spanhook_policies GROUP BY tenant_id) ORDER BY version"
    )
    for row in connection.execute(sa.text(query)).all():
        if row.actor in admins:
            content = yaml.safe_load(row.content)
            beyond = [key for key in ("mode", "settings") if isinstance(content, dict) and key in content]
            if not row.tenant_id:
                yield f"the policy of all tenants, version {row.version} (by tenant {admins[row.actor]!r})"
            elif beyond:
                yield f"{' and '.join(beyond)} in the policy of tenant {row.tenant_id!r}, version {row.version}"


def _hooks(connection: sa.Connection, admins: dict[str, str]) -> Iterator[str]:
    """Hooks for all tenants whose last change is a tenant's."""
    query = (
        "SELECT hook_id, action, actor FROM spanhook_hook_history WHERE tenant_id = '' AND id IN "
        "(SELECT max(id) FROM spanhook_hook_history WHERE actor NOT LIKE 'migration %' GROUP BY hook_id) ORDER BY id"
    )
    for row in connection.execute(sa.text(query)).all():
        if row.actor in admins:
            yield f"hook {row.hook_id} for all tenants ({row.action}, by tenant {admins[row.actor]!r})"
