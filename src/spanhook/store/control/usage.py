"""Usage by day, tenant, user, agent and model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from sqlalchemy import cast, func, select

from spanhook.store.control.columns import Big
from spanhook.store.control.database import Database
from spanhook.store.control.facts import Used, short
from spanhook.store.control.tables import usage

UsageBy = Literal["day", "tenant_id", "user_id", "agent", "model"]
MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Usage of one group.

    Attributes:
        by: What it is of, such as ``{"day": 20000, "model": "gpt-4o"}``; days are counted since the epoch.
        used: The usage.
    """

    by: dict[str, Any]
    used: Used

    @property
    def cost_usd(self) -> float:
        """What it cost, without what has no price."""
        return self.used.cost_nano / 1e9


async def usage_by(
    database: Database,
    tenant: str | None,
    by: Sequence[UsageBy],
    *,
    since_day: int = 0,
    until_day: int = 0,
    limit: int = 1000,
    **equal: str,
) -> list[UsageRow]:
    """Usage in groups: by day the earliest first, otherwise the most expensive first.

    Args:
        database: Where it is.
        tenant: Whose may be seen; ``None`` for all.
        by: What the groups have in common; empty for one sum.
        since_day, until_day: Days since the epoch; the second is no part of it, and 0 for no end.
        limit: How many groups.
        **equal: Only that of a ``tenant_id``, ``user_id``, ``agent`` or ``model``.

    Raises:
        ValueError: ``by`` or ``equal`` has another name.
        StoreError: The database cannot be used now.
    """
    unknown = {*by, *equal} - {*get_args(UsageBy)}
    if unknown:
        raise ValueError(f"usage by {sorted(unknown)!r}: expected some of {', '.join(get_args(UsageBy))}")
    groups = [usage.c[name] for name in dict.fromkeys(by)]
    sums = [cast(func.coalesce(func.sum(usage.c[name]), 0), Big).label(f"sum_{name}") for name in Used._fields]
    query = select(*groups, *sums).where(usage.c.day >= since_day)
    if until_day:
        query = query.where(usage.c.day < until_day)
    if tenant is not None:
        query = query.where(usage.c.tenant_id == tenant)
    for name, wanted in equal.items():
        if wanted:
            query = query.where(usage.c[name] == short(wanted))
    cost, read = sums[Used._fields.index("cost_nano")], sums[Used._fields.index("input_tokens")]
    order = [usage.c.day] if "day" in by else []
    query = query.group_by(*groups).order_by(*order, cost.desc(), read.desc(), *groups)
    async with database.reading() as connection:
        rows = (await connection.execute(query.limit(min(limit, MOST_ROWS)))).all()
    width = len(groups)
    return [UsageRow(dict(zip(dict.fromkeys(by), row[:width], strict=True)), Used(*row[width:])) for row in rows]
