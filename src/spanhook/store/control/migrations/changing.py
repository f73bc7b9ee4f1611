"""What migrations of data share: they say what they have changed, in the audit record and to processes of agents."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from spanhook.store import ZERO, Entry, sealed
from spanhook.version import __version__

_AUDIT_LOCK = 0x7370616E_0001
"""The number of PostgreSQL's lock for the end of the chain of the audit record."""


def record(
    connection: Connection, revision: str, action: str, subject: str, tenant: str, facts: Mapping[str, Any]
) -> None:
    """Append to the audit record, as a part of the migration's transaction.

    Args:
        connection: The connection of the migration.
        revision: The migration.
        action: What was done, such as ``hook.update``.
        subject: What it was done to: an id.
        tenant: Whose that is; empty for nobody's.
        facts: Further facts, as plain data without fractions and secrets.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _AUDIT_LOCK})
    query = "SELECT sequence, hash FROM spanhook_audit ORDER BY sequence DESC LIMIT 1"
    last = connection.execute(sa.text(query)).first()
    if last is None:
        opening: Entry = {"kind": "open", "chain": "control-plane", "keyed": False, "version": __version__}
        number, prev = 0, _append(connection, 0, ZERO, opening, {})
    else:
        number, prev = last
    columns = {"actor": f"migration {revision}", "action": action, "subject": subject, "tenant": tenant}
    entry: Entry = {"kind": "change", "chain": "control-plane", "how": "migration", "actor_tenant": ""}
    _append(connection, number + 1, prev, {**entry, **columns, **facts}, columns)


def revise(connection: Connection, tenant: str) -> None:
    """Raise the revision of what a tenant's processes enforce, so that they ask for it again."""
    statement = (
        "INSERT INTO spanhook_revisions (tenant_id, revision, changed_ns) VALUES (:tenant, 1, :now) "
        "ON CONFLICT (tenant_id) DO UPDATE SET revision = spanhook_revisions.revision + 1, changed_ns = :now"
    )
    connection.execute(sa.text(statement), {"tenant": tenant, "now": time.time_ns()})


def as_json(value: object) -> str:
    """Plain data as columns have it."""
    return json.dumps(value, separators=(",", ":"))


def _append(connection: Connection, number: int, prev: str, entry: Entry, columns: Mapping[str, str]) -> str:
    now = time.time_ns()
    at = datetime.fromtimestamp(now // 1_000_000_000, UTC)
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{now % 1_000_000_000:09}Z"
    line, mark = sealed({**entry, "time": stamp, "seq": number, "prev": prev}, None)
    row = {"actor": "", "action": "", "subject": "", "tenant": "", **columns}
    statement = (
        "INSERT INTO spanhook_audit (sequence, tenant_id, time_ns, actor, action, subject, entry, prev, hash) "
        "VALUES (:number, :tenant, :now, :actor, :action, :subject, :entry, :prev, :mark)"
    )
    written = line.decode().rstrip("\n")
    connection.execute(
        sa.text(statement), {**row, "number": number, "now": now, "entry": written, "prev": prev, "mark": mark}
    )
    return mark
