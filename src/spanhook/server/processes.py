"""The processes of agents that follow this server, as they report themselves."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from spanhook.server.cursors import cursor_of, position
from spanhook.server.scopes import Principal
from spanhook.store.control import Database, ExecutionEntry, HookCount, tables, take_report

KEPT_NS = 24 * 3600 * 1_000_000_000
"""After how long a process that is not heard of is forgotten."""
MOST = 2000
"""How many processes of one tenant are known; of more, those that were heard of last."""
_table = tables.processes


def _take(
    connection: Connection, known: str, tenant: str, counts: Sequence[HookCount], entries: Sequence[ExecutionEntry]
) -> None:
    one = _table.c.process_id == known
    before: Any = connection.execute(select(_table.c.executions).where(one)).scalar()
    now = take_report(connection, tenant, before or {}, counts, entries)
    connection.execute(update(_table).where(one).values(executions=now))


class Processes:
    """The processes of a database. All methods raise ``StoreError`` if it cannot be used now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(
        self,
        principal: Principal,
        process_id: str,
        facts: Mapping[str, Any],
        counts: Sequence[HookCount] = (),
        entries: Sequence[ExecutionEntry] = (),
    ) -> None:
        """Keep what a process reports.

        Args:
            principal: Whose process it is.
            process_id: What it calls itself. Another tenant's process of the same id is another one.
            facts: The columns ``service``, ``host``, ``pid``, ``version``, ``revision``, ``digest``, ``hooks``,
                ``problems``.
            counts: What its hooks have done since it began.
            entries: What is new in its execution log.
        """
        now, tenant = time.time_ns(), principal.tenant
        known = hashlib.sha256(f"{tenant}\0{process_id}".encode(errors="replace")).hexdigest()[:32]
        changed = {**facts, "last_seen_ns": now}
        dialect = postgresql if self._database.dialect == "postgresql" else sqlite
        statement = dialect.insert(_table).values(process_id=known, tenant_id=tenant, first_seen_ns=now, **changed)
        own = [replace(one, tenant_id=tenant) if tenant else one for one in entries]
        async with self._database.writing() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=["process_id"], set_=changed))
            if counts or own:
                await connection.run_sync(_take, known, tenant, counts, own)
            await connection.execute(delete(_table).where(_table.c.last_seen_ns < now - KEPT_NS))
            last = select(_table.c.last_seen_ns).where(_table.c.tenant_id == tenant)
            last = last.order_by(_table.c.last_seen_ns.desc()).offset(MOST - 1).limit(1).scalar_subquery()
            await connection.execute(delete(_table).where(_table.c.tenant_id == tenant, _table.c.last_seen_ns < last))

    async def active(self, principal: Principal) -> Counter[str]:
        """How many hooks of processes' own code there are for each event or kind, each counted once."""
        query = select(_table.c.hooks)
        if not principal.operator:
            query = query.where(_table.c.tenant_id == principal.tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).scalars().all()
        there = {(hook["name"], kind) for hooks in rows for hook in hooks or () for kind in hook["kinds"]}
        return Counter(kind for _, kind in there)

    async def page(
        self, principal: Principal, *, cursor: str | None = None, limit: int = 100
    ) -> tuple[list[RowMapping], str]:
        """Processes that the caller may see, the latest heard of first, and the cursor of the next page."""
        query = select(_table).order_by(_table.c.last_seen_ns.desc(), _table.c.process_id).limit(limit + 1)
        if not principal.operator:
            query = query.where(_table.c.tenant_id == principal.tenant)
        if cursor is not None:
            seen, known = position(cursor)
            same = and_(_table.c.last_seen_ns == seen, _table.c.process_id > known)
            query = query.where(or_(_table.c.last_seen_ns < seen, same))
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).mappings().all()
        more = cursor_of(rows[limit - 1]["last_seen_ns"], rows[limit - 1]["process_id"]) if len(rows) > limit else ""
        return list(rows[:limit]), more
