"""Definitions of hooks in the database: who may see and change which, their history, and pages of them.

Every change, its record and the tenant's new revision are one transaction.
"""

import time
from typing import Literal

from sqlalchemy import and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.definitions import HookDefinition
from spanhook.server.audit import record
from spanhook.server.cursors import cursor_of, position
from spanhook.server.problems import Problem
from spanhook.server.revisions import revise
from spanhook.server.scopes import Principal
from spanhook.server.stored_hooks import Change, StoredHook, change, columns_of, plain, stored_hook
from spanhook.store.control import Database, tables

Action = Literal["create", "update", "enable", "disable", "delete"]
MOST_PER_EVENT = 20
"""How many hooks one event may have for one tenant, disabled ones included."""
MOST_BYTES = 2 * 1024 * 1024
"""How large the definitions of one tenant may be together: processes of operators get those of all tenants at once."""
_hooks, _history = tables.hooks, tables.hook_history


class HookStore:
    """The definitions of a database. All methods raise ``StoreError`` if it cannot be used now."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, principal: Principal, definition: HookDefinition) -> StoredHook:
        """Store a new definition.

        Raises:
            Problem: The tenant is not the caller's, or its event has too many hooks.
        """
        _check_owner(principal, definition.tenant_id)
        async with self._database.writing() as connection:
            await revise(connection, definition.tenant_id)
            await _check_number(connection, definition)
            created = StoredHook(definition, 1)
            await connection.execute(insert(_hooks).values(hook_id=definition.hook_id, **columns_of(created)))
            await _check_size(connection, definition.tenant_id)
            await _keep(connection, principal, "create", created)
        return created

    async def get(self, principal: Principal, hook_id: str) -> StoredHook:
        """A definition that the caller may see.

        Raises:
            Problem: There is none.
        """
        async with self._database.reading() as connection:
            return await _found(connection, principal, hook_id)

    async def changeable(self, principal: Principal, hook_id: str) -> StoredHook:
        """A definition that the caller may change.

        Raises:
            Problem: There is none, or the caller may only know that there is.
        """
        async with self._database.reading() as connection:
            return await _changeable(connection, principal, hook_id)

    async def numbers(self, principal: Principal) -> dict[str, tuple[int, int]]:
        """How many definitions that the caller may see each event has, and how many of them are enabled."""
        query = select(_hooks.c.event_type, _hooks.c.enabled, func.count()).group_by(
            _hooks.c.event_type, _hooks.c.enabled
        )
        if not principal.operator:
            query = query.where(_hooks.c.tenant_id.in_((principal.tenant, "")))
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).all()
        found: dict[str, tuple[int, int]] = {}
        for event, enabled, number in sorted(rows, key=lambda row: row[0]):
            there, active = found.get(event, (0, 0))
            found[event] = there + number, active + number * enabled
        return found

    async def page(
        self,
        principal: Principal,
        *,
        event: str | None = None,
        tenant: str | None = None,
        enabled: bool | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> tuple[list[StoredHook], str]:
        """Definitions that the caller may see, in the order of their creation, and the cursor of the next page."""
        query = select(_hooks).order_by(_hooks.c.created_ns, _hooks.c.hook_id).limit(limit + 1)
        if not principal.operator:
            query = query.where(_hooks.c.tenant_id.in_((principal.tenant, "")))
        if event is not None:
            query = query.where(_hooks.c.event_type == event)
        if tenant is not None:
            query = query.where(_hooks.c.tenant_id == tenant)
        if enabled is not None:
            query = query.where(_hooks.c.enabled.is_(enabled))
        if cursor is not None:
            created, hook_id = position(cursor)
            after = and_(_hooks.c.created_ns == created, _hooks.c.hook_id > hook_id)
            query = query.where(or_(_hooks.c.created_ns > created, after))
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).mappings().all()
        more = cursor_of(rows[limit - 1]["created_ns"], rows[limit - 1]["hook_id"]) if len(rows) > limit else ""
        return [stored_hook(row) for row in rows[:limit]], more

    async def replace(self, principal: Principal, before: StoredHook, definition: HookDefinition) -> StoredHook:
        """Store another definition in place of one.

        Raises:
            Problem: It is not the caller's to change, was changed meanwhile, or its event has too many hooks.
        """
        _check_owner(principal, definition.tenant_id)
        async with self._database.writing() as connection:
            await revise(connection, definition.tenant_id)
            if definition.event_type != before.definition.event_type:
                await _check_number(connection, definition)
            after = await _stored(connection, principal, "update", before, definition)
            await _check_size(connection, definition.tenant_id)
            return after

    async def enable(self, principal: Principal, hook_id: str, *, enabled: bool) -> StoredHook:
        """Enable or disable a definition. If it is so already, nothing changes.

        Raises:
            Problem: There is none, or it is not the caller's to change.
        """
        async with self._database.writing() as connection:
            before = await _changeable(connection, principal, hook_id)
            if before.definition.enabled == enabled:
                return before
            await revise(connection, before.definition.tenant_id)
            before = await _changeable(connection, principal, hook_id)
            if before.definition.enabled == enabled:  # somebody else was first
                return before
            action: Action = "enable" if enabled else "disable"
            return await _stored(connection, principal, action, before, before.definition.changed(enabled=enabled))

    async def delete(self, principal: Principal, hook_id: str) -> StoredHook:
        """Delete a definition. Its history stays.

        Raises:
            Problem: There is none, or it is not the caller's to change.
        """
        async with self._database.writing() as connection:
            before = await _changeable(connection, principal, hook_id)
            await revise(connection, before.definition.tenant_id)
            before = await _changeable(connection, principal, hook_id)  # as whoever was first has left it
            done = await connection.execute(delete(_hooks).where(_hooks.c.hook_id == hook_id))
            if not done.rowcount:
                raise _nothing(hook_id)
            await _keep(connection, principal, "delete", StoredHook(before.definition, before.version + 1))
        return before

    async def history(
        self, principal: Principal, hook_id: str, *, cursor: str | None = None, limit: int = 100
    ) -> tuple[list[Change], str]:
        """What was done to a definition, the newest first; also to one that is deleted.

        Raises:
            Problem: There is none, or the caller may only know that there is.
        """
        query = select(_history).where(_history.c.hook_id == hook_id).order_by(_history.c.id.desc()).limit(limit + 1)
        if cursor is not None:
            query = query.where(_history.c.id < position(cursor)[0])
        if not principal.operator:
            query = query.where(_history.c.tenant_id.in_((principal.tenant, "")))
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).mappings().all()
        if not rows and cursor is None:
            raise _nothing(hook_id)
        if rows:
            _check_owner(principal, rows[0]["tenant_id"])
        more = cursor_of(rows[limit - 1]["id"]) if len(rows) > limit else ""
        return [change(row) for row in rows[:limit]], more


FOR_ALL = "hooks for all tenants are the operator's: they need the scope hooks:admin, which no caller with a tenant has"


def sees_all_of(principal: Principal, definition: HookDefinition) -> bool:
    """Whether the caller may see a whole definition, not just that there is one."""
    return principal.sees(definition.tenant_id)


def _check_owner(principal: Principal, tenant: str) -> None:
    if not tenant and not principal.may("hooks:admin"):
        raise Problem("scope_missing", FOR_ALL)
    if tenant and not principal.sees(tenant):
        raise Problem("not_found", f"there is no tenant {tenant!r} here")


def _nothing(hook_id: str) -> Problem:
    return Problem("not_found", f"there is no hook {hook_id!r} here")


async def _found(connection: AsyncConnection, principal: Principal, hook_id: str) -> StoredHook:
    row = (await connection.execute(select(_hooks).where(_hooks.c.hook_id == hook_id))).mappings().first()
    if row is None or (row["tenant_id"] and not principal.sees(row["tenant_id"])):
        raise _nothing(hook_id)
    return stored_hook(row)


async def _changeable(connection: AsyncConnection, principal: Principal, hook_id: str) -> StoredHook:
    found = await _found(connection, principal, hook_id)
    _check_owner(principal, found.definition.tenant_id)
    return found


async def _check_number(connection: AsyncConnection, definition: HookDefinition) -> None:
    same = and_(_hooks.c.tenant_id == definition.tenant_id, _hooks.c.event_type == definition.event_type)
    there = (await connection.execute(select(func.count()).select_from(_hooks).where(same))).scalar_one()
    if there >= MOST_PER_EVENT:
        raise Problem(
            "too_many_hooks", f"{definition.event_type} has {there} hooks, disabled ones included; delete one first"
        )


async def _check_size(connection: AsyncConnection, tenant: str) -> None:
    size = func.coalesce(func.sum(func.length(_hooks.c.definition)), 0)
    found = (await connection.execute(select(size).where(_hooks.c.tenant_id == tenant))).scalar_one()
    if found > MOST_BYTES:
        raise Problem(
            "too_many_hooks", f"with it, the hooks have more than {MOST_BYTES} bytes together; delete one first"
        )


async def _stored(
    connection: AsyncConnection, principal: Principal, action: Action, before: StoredHook, definition: HookDefinition
) -> StoredHook:
    after = StoredHook(definition, before.version + 1)
    same = and_(_hooks.c.hook_id == definition.hook_id, _hooks.c.version == before.version)
    done = await connection.execute(update(_hooks).where(same).values(**columns_of(after, new=False)))
    if not done.rowcount:
        raise Problem("conflict", "the hook was changed or deleted meanwhile; read it again")
    await _keep(connection, principal, action, after)
    return after


async def _keep(connection: AsyncConnection, principal: Principal, action: Action, after: StoredHook) -> None:
    definition, now = after.definition, time.time_ns()
    await connection.execute(
        insert(_history).values(
            hook_id=definition.hook_id,
            tenant_id=definition.tenant_id,
            version=after.version,
            action=action,
            actor=principal.subject,
            definition=plain(definition),
            time_ns=now,
        )
    )
    await record(
        connection,
        principal,
        f"hook.{action}",
        definition.hook_id,
        definition.tenant_id,
        version=after.version,
        event=definition.event_type,
        handler=definition.handler_ref,
        enabled=definition.enabled,
    )
