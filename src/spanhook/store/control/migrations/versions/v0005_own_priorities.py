"""Definitions of ready-made hooks have their handler's own priority and fail mode.

Until now a definition without a priority had 100, and so failed open, whatever its handler is for. The web pages stored
that 100 in every definition, so it does not say that somebody wanted it.
"""

import json
import time
from typing import Any

import sqlalchemy as sa
from alembic import op

from spanhook.diagnostics import log
from spanhook.store.control.migrations.changing import as_json, record, revise

revision = "0005"
down_revision = "0004"

_READY_MADE = "spanhook.hooks"
_FORMER = 100


def upgrade() -> None:
    """Unset the priority of these definitions where it is 100, and remove the column that repeats the priority."""
    connection = op.get_bind()
    query = "SELECT hook_id, tenant_id, name, version, definition FROM spanhook_hooks WHERE priority = :former"
    changed: list[str] = []
    tenants: set[str] = set()
    for row in connection.execute(sa.text(f"{query} ORDER BY created_ns, hook_id"), {"former": _FORMER}).all():
        definition = json.loads(row.definition)
        module = str(definition.get("handler_ref", "")).partition(":")[0]
        if module == _READY_MADE or module.startswith(f"{_READY_MADE}."):
            _change(connection, row, definition)
            tenants.add(row.tenant_id)
            whose = f"tenant {row.tenant_id!r}" if row.tenant_id else "all tenants"
            changed.append(f"{row.hook_id} ({row.name!r}, {module.rpartition('.')[2]}, {whose})")
    for tenant in sorted(tenants):
        revise(connection, tenant)
    op.drop_column("spanhook_hooks", "priority")
    if changed:
        log.warning(
            "spanhook: definitions of ready-made hooks had priority %d, and so let calls pass when they failed. From "
            "now on, these have their handler's own priority, and its fail mode unless they set one: %s. Set "
            "fail_mode: open in those that are to let calls pass",
            _FORMER,
            ", ".join(changed),
        )


def _change(connection: sa.Connection, row: Any, definition: dict[str, Any]) -> None:
    definition.pop("priority", None)
    after = {"hook": row.hook_id, "tenant": row.tenant_id, "version": row.version + 1, "now": time.time_ns()}
    after |= {"definition": as_json(definition), "actor": f"migration {revision}"}
    statement = (
        "UPDATE spanhook_hooks SET version = :version, definition = :definition, updated_ns = :now "
        "WHERE hook_id = :hook"
    )
    connection.execute(sa.text(statement), after)
    statement = (
        "INSERT INTO spanhook_hook_history (hook_id, tenant_id, version, action, actor, definition, time_ns) "
        "VALUES (:hook, :tenant, :version, 'update', :actor, :definition, :now)"
    )
    connection.execute(sa.text(statement), after)
    facts = {
        "version": row.version + 1,
        "event": definition.get("event_type", ""),
        "handler": definition["handler_ref"],
        "priority": "the handler's own",
        "priority_before": _FORMER,
        "fail_mode": definition.get("fail_mode") or "the handler's own",
    }
    record(connection, revision, "hook.update", row.hook_id, row.tenant_id, facts)
