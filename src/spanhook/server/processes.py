"""The processes of agents that follow this server, as they report themselves."""

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, and_, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from spanhook.server.cursors import cursor_of, position
from spanhook.server.scopes import Principal
from spanhook.store.control import Database, tables

KEPT_NS = 24 * 3600 * 1_000_000_000
"""After how long a process that is not heard of is forgotten."""
MOST = 2000
"""How many processes of one tenant are known; of more, those that were heard of last."""
_table = tables.processes


class Processes:
    """The processes of a database. All methods raise ``StoreError`` if it cannot be used now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, principal: Principal, process_id: str, facts: Mapping[str, Any]) -> None:
        """Keep what a process reports.

        Args:
            principal: Whose process it is.
            process_id: What it calls itself. Another tenant's process of the same id is another one.
            facts: The columns ``service``, ``host``, ``pid``, ``version``, ``revision``, ``digest``, ``hooks``,
                ``problems``.
        """
        now, tenant = time.time_ns(), principal.tenant
        known = hashlib.sha256(f"{tenant}\0{process_id}".encode(errors="replace")).hexdigest()[:32]
        changed = {**facts, "last_seen_ns": now}
        dialect = postgresql if self._database.dialect == "postgresql" else sqlite
        statement = dialect.insert(_table).values(process_id=known, tenant_id=tenant, first_seen_ns=now, **changed)
        async with self._database.writing() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=["process_id"], set_=changed))
            await connection.execute(delete(_table).where(_table.c.last_seen_ns < now - KEPT_NS))
            last = select(_table.c.last_seen_ns).where(_table.c.tenant_id == tenant)
            last = last.order_by(_table.c.last_seen_ns.desc()).offset(MOST - 1).limit(1).scalar_subquery()
            await connection.execute(delete(_table).where(_table.c.tenant_id == tenant, _table.c.last_seen_ns < last))

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
