"""Budgets among definitions and policies, and how they stand, as far as the server knows their store."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import func, select

from spanhook.errors import ConfigurationError, StoreError
from spanhook.hooks.budget import Budget, Standing
from spanhook.model import Identity
from spanhook.server.policy_store import policies_in
from spanhook.server.scopes import Principal
from spanhook.store.control import Database, tables

_hooks, _policies = tables.hooks, tables.policies
_CLASS = f"{Budget.__module__}:{Budget.__name__}"
_DOOR = "spanhook.hooks.budget:Budget"


@dataclass(frozen=True, slots=True)
class Known:
    """A budget.

    Attributes:
        source: Where it is configured.
        subject: The id of the definition or policy.
        name: Its name.
        tenant: Whose operations it limits; empty for all.
        enabled: Whether it is in force.
        mode: ``enforce`` or ``shadow``.
        config: Its settings.
        standing: How it stands; ``None`` if that is not known.
        unknown: Why it is not known.
    """

    source: Literal["definition", "policy"]
    subject: str
    name: str
    tenant: str
    enabled: bool
    mode: str
    config: Mapping[str, Any]
    standing: Standing | None = None
    unknown: str = ""


class Budgets:
    """The budgets of a database.

    Args:
        database: The database.
        stores: The addresses of stores that processes use, by name.
    """

    def __init__(self, database: Database, stores: Mapping[str, str]) -> None:
        self._database, self._stores = database, dict(stores)

    async def of(self, principal: Principal, identity: Identity) -> list[Known]:
        """The budgets that the caller may see: those of the tenant; for operators, all.

        Args:
            principal: The caller.
            identity: Whose use is asked for, as far as a budget's ``per`` asks.

        Raises:
            StoreError: The database cannot be used now.
        """
        found = [*await self._defined(principal), *await self._shared(principal)]
        return list(await asyncio.gather(*(asyncio.to_thread(self._asked, one, identity) for one in found)))

    async def _defined(self, principal: Principal) -> list[Known]:
        query = select(_hooks.c.definition).order_by(_hooks.c.created_ns, _hooks.c.hook_id)
        if not principal.operator:
            query = query.where(_hooks.c.tenant_id == principal.tenant)
        async with self._database.reading() as connection:
            every = (await connection.execute(query)).scalars().all()
        return [
            Known(
                "definition",
                one["hook_id"],
                one["name"],
                one.get("tenant_id", ""),
                one.get("enabled", True),
                one.get("mode", "enforce"),
                one.get("config", {}),
            )
            for one in every
            if one["handler_ref"] in (_CLASS, _DOOR)
        ]

    async def _shared(self, principal: Principal) -> list[Known]:
        newest = select(func.max(_policies.c.version)).group_by(_policies.c.tenant_id)
        query = select(_policies.c.tenant_id, _policies.c.content).where(_policies.c.version.in_(newest))
        if not principal.operator:
            query = query.where(_policies.c.tenant_id == principal.tenant)
        async with self._database.reading() as connection:
            rows = (await connection.execute(query.order_by(_policies.c.tenant_id))).all()
        return [
            Known(
                "policy",
                one["id"],
                one["id"],
                tenant or one.get("tenant_id", ""),
                True,
                one.get("mode", "enforce"),
                one.get("with", {}),
            )
            for tenant, content in rows
            for one in (await policies_in(content)).policies
            if one["use"] == "budget"
        ]

    def _asked(self, known: Known, identity: Identity) -> Known:
        """A budget with how it stands. It may wait for a store."""
        try:
            store = self._store(str(known.config.get("store", "")))
            missing = _missing(str(known.config.get("per", "run")), identity)
            if missing:
                return replace(known, unknown=f"name the {missing}")
            settings: dict[str, Any] = {**known.config, "store": store}
            budget = Budget(**settings)
            budget.name, budget.tenant_id = known.name, known.tenant
            return replace(known, standing=budget.standing(identity))
        except (ConfigurationError, StoreError, TypeError) as error:
            return replace(known, unknown=str(error))

    def _store(self, given: str) -> str:
        """The address of a store. Only those in the server's settings are asked."""
        found = given if given in self._stores.values() else self._stores.get(given)
        if not given:
            found = self._stores.get("counters") or self._stores.get("default")
        if found is None:
            raise ConfigurationError("the server does not know its store; see the setting stores")
        return found


def _missing(per: str, identity: Identity) -> str:
    values = {"run": identity.run_id, "session": identity.session_id, "user": identity.user_id}
    values["tenant"] = identity.tenant_id
    return per if per in values and not values[per] else ""
