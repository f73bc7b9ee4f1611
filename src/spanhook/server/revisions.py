"""How often what the processes of a tenant enforce has changed. Every change raises it, in its own transaction."""

import time
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.store.control import tables

_revisions = tables.revisions


async def revise(connection: AsyncConnection, tenant: str) -> None:
    """Raise a tenant's revision. Changes of one tenant wait for each other from here on.

    Args:
        connection: A transaction that writes.
        tenant: Whose hooks or policies change; empty for those of all tenants.
    """
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    values: dict[str, Any] = {"tenant_id": tenant, "revision": 1, "changed_ns": time.time_ns()}
    changed = {"revision": _revisions.c.revision + 1, "changed_ns": values["changed_ns"]}
    statement = dialect.insert(_revisions).values(values)
    await connection.execute(statement.on_conflict_do_update(index_elements=["tenant_id"], set_=changed))


async def version_of(connection: AsyncConnection, tenant: str | None) -> int:
    """The version of what a tenant's processes enforce: the sum of the tenant's revision and that of all tenants.

    Each change raises one of them, so no two states have the same version.

    Args:
        connection: A transaction.
        tenant: The tenant; ``None`` for processes of all tenants.
    """
    query = select(func.coalesce(func.sum(_revisions.c.revision), 0))
    if tenant is not None:
        query = query.where(_revisions.c.tenant_id.in_(("", tenant)))
    return int((await connection.execute(query)).scalar_one())
