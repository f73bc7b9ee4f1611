"""The audit record: every change, in the transaction that makes it, chained by hash.

Each row is a line as ``spanhook audit verify`` reads it: ``lines`` gives them all. There is one chain for each
database, whatever the number of processes.
"""

import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.server.scopes import Principal
from spanhook.store import ZERO, Entry, sealed
from spanhook.store.control import Database, clean, tables
from spanhook.version import __version__

_LOCK = 0x7370616E_0001
"""The number of PostgreSQL's lock for the end of the chain."""
_PAGE = 500
_table = tables.audit


async def record(
    connection: AsyncConnection, principal: Principal, action: str, subject: str, tenant: str, **facts: Any
) -> None:
    """Append a record, as a part of the connection's transaction.

    Args:
        connection: A transaction that writes.
        principal: Who has made the change.
        action: What was done, such as ``hook.create``.
        subject: What it was done to: an id.
        tenant: Whose that is; empty for nobody's.
        **facts: Further facts, as plain data without fractions and secrets.
    """
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    last = (
        await connection.execute(select(_table.c.sequence, _table.c.hash).order_by(_table.c.sequence.desc()).limit(1))
    ).first()
    if last is None:
        opening = {"kind": "open", "chain": "control-plane", "keyed": False, "version": __version__}
        last = (0, await _append(connection, 0, ZERO, opening, "", "", "", ""))
    entry: Entry = {
        "kind": "change",
        "chain": "control-plane",
        "action": action,
        "actor": clean(principal.subject),
        "how": principal.how,
        "subject": clean(subject),
        "tenant": clean(tenant),
        "actor_tenant": clean(principal.tenant),
        **facts,
    }
    await _append(connection, last[0] + 1, last[1], entry, principal.subject, action, subject, tenant)


async def _append(
    connection: AsyncConnection,
    number: int,
    prev: str,
    entry: Entry,
    actor: str,
    action: str,
    subject: str,
    tenant: str,
) -> str:
    now = time.time_ns()
    at = datetime.fromtimestamp(now // 1_000_000_000, UTC)
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{now % 1_000_000_000:09}Z"
    line, mark = sealed({**entry, "time": stamp, "seq": number, "prev": prev}, None)
    await connection.execute(
        insert(_table).values(
            sequence=number,
            tenant_id=tenant,
            time_ns=now,
            actor=actor,
            action=action,
            subject=subject,
            entry=line.decode().rstrip("\n"),
            prev=prev,
            hash=mark,
        )
    )
    return mark


async def lines(database: Database) -> AsyncIterator[str]:
    """All records as lines of JSON, the oldest first.

    Raises:
        StoreError: The database cannot be used now.
    """
    last = -1
    while True:
        query = select(_table.c.sequence, _table.c.entry).where(_table.c.sequence > last).order_by(_table.c.sequence)
        async with database.reading() as connection:
            rows = (await connection.execute(query.limit(_PAGE))).all()
        for sequence, entry in rows:
            yield entry
            last = sequence
        if len(rows) < _PAGE:
            return


async def changes(database: Database) -> list[dict[str, Any]]:
    """The records of changes as data, the oldest first.

    Raises:
        StoreError: The database cannot be used now.
    """
    found = [json.loads(line) async for line in lines(database)]
    return [one for one in found if one["kind"] == "change"]
