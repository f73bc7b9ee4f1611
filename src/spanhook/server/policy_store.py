"""Policies in the database: every version is kept, and the highest one of a tenant is in force."""

import asyncio
import functools
import hashlib
import time
from dataclasses import dataclass

from sqlalchemy import RowMapping, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.config import Shared, checked_policies, read_policies
from spanhook.errors import ConfigurationError, ConfigurationFileError
from spanhook.server.audit import record
from spanhook.server.cursors import cursor_of, position
from spanhook.server.handlers import BEYOND, Handlers
from spanhook.server.masking import masked
from spanhook.server.problems import Mistake, Problem
from spanhook.server.revisions import revise
from spanhook.server.scopes import OPERATORS, Principal
from spanhook.store.control import Database, tables

_table = tables.policies


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """One version of a policy.

    Attributes:
        tenant: Whose it is; empty for that of all tenants.
        version: It grows with each change; 0 if there has been none.
        content: YAML.
        digest: The SHA-256 of the content, in hexadecimal digits.
        actor: Who has put it in force.
        comment: Why.
        created_ns: When, in nanoseconds since the epoch.
    """

    tenant: str
    version: int = 0
    content: str = ""
    digest: str = ""
    actor: str = ""
    comment: str = ""
    created_ns: int = 0


class PolicyStore:
    """The policies of a database. All methods raise ``StoreError`` if it cannot be used now.

    Args:
        database: The database.
        handlers: Which handlers a caller may use.
    """

    def __init__(self, database: Database, handlers: Handlers) -> None:
        self._database, self._handlers = database, handlers

    async def current(self, principal: Principal, tenant: str | None) -> PolicyVersion:
        """The policy in force.

        Raises:
            Problem: The tenant is not the caller's.
        """
        whose = _whose(principal, tenant)
        async with self._database.reading() as connection:
            return await _current(connection, whose)

    async def put(
        self, principal: Principal, tenant: str | None, content: str, comment: str, expected: int | None
    ) -> PolicyVersion:
        """Check a policy and put it in force.

        Raises:
            Problem: The tenant is not the caller's, the policy has mistakes, or another version is in force than
                expected.
        """
        whose = _whose(principal, tenant)
        shared = await _check(whose, content)
        async with self._database.writing() as connection:
            await revise(connection, whose)
            before = await _current(connection, whose)
            await self._check_rights(principal, before, shared)
            if expected is not None and before.version != expected:
                raise Problem("conflict", f"version {before.version} is in force, not {expected}; read it again")
            return await _add(connection, principal, "policy.put", whose, content, comment)

    async def roll_back(self, principal: Principal, tenant: str | None, version: int, comment: str) -> PolicyVersion:
        """Put an earlier version in force again, as a new one.

        Raises:
            Problem: The tenant is not the caller's, there is no such version, or it can no longer be used.
        """
        whose = _whose(principal, tenant)
        async with self._database.reading() as connection:
            query = select(_table).where(_table.c.tenant_id == whose, _table.c.version == version)
            row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise Problem("not_found", f"there is no version {version} here")
        shared = await _check(whose, row["content"])
        comment = comment or f"back to version {version}"
        async with self._database.writing() as connection:
            await revise(connection, whose)
            await self._check_rights(principal, await _current(connection, whose), shared)
            return await _add(connection, principal, "policy.rollback", whose, row["content"], comment)

    async def history(
        self, principal: Principal, tenant: str | None, *, cursor: str | None = None, limit: int = 100
    ) -> tuple[list[PolicyVersion], str]:
        """All versions, the newest first, and the cursor of the next page.

        Raises:
            Problem: The tenant is not the caller's.
        """
        whose = _whose(principal, tenant)
        query = select(_table).where(_table.c.tenant_id == whose).order_by(_table.c.version.desc()).limit(limit + 1)
        if cursor is not None:
            query = query.where(_table.c.version < position(cursor)[0])
        async with self._database.reading() as connection:
            rows = (await connection.execute(query)).mappings().all()
        more = cursor_of(rows[limit - 1]["version"]) if len(rows) > limit else ""
        return [_version(row) for row in rows[:limit]], more

    async def _check_rights(self, principal: Principal, before: PolicyVersion, shared: Shared) -> None:
        """Refuse what only an operator may change: all but the policies, and policies that reach outside.

        What the version in force has of these may stay.

        Raises:
            Problem: The caller may not change it so.
        """
        if principal.may(OPERATORS):
            return
        now = await policies_in(before.content)
        names = {*now.settings, *shared.settings}
        changed = sorted(one for one in names if now.settings.get(one) != shared.settings.get(one))
        if changed:
            raise Problem(
                "scope_missing",
                f"{', '.join(changed)}: the mode and settings are the operator's, and need the scope {OPERATORS}; "
                f"leave them as they are in version {before.version}, which is in force",
            )
        for one in shared.policies:
            if one not in now.policies and not await self._handlers.takes(principal, one):
                raise Problem("scope_missing", f"policy {one['id']!r}: {one['use']} {BEYOND}")


async def policies_in(content: str) -> Shared:
    """The policies and settings in a stored document. Reading a large one takes a while, and blocks nobody."""
    return await asyncio.to_thread(_read, content)


_read = functools.lru_cache(maxsize=64)(read_policies)


def _whose(principal: Principal, tenant: str | None) -> str:
    whose = principal.tenant if tenant is None else tenant
    if not whose and not principal.may(OPERATORS):
        raise Problem(
            "scope_missing",
            f"the policy of all tenants is the operator's: it needs the scope {OPERATORS}, which no caller with a "
            "tenant has",
        )
    if whose and not principal.sees(whose):
        raise Problem("not_found", f"there is no tenant {whose!r} here")
    return whose


async def _check(tenant: str, content: str) -> Shared:
    try:
        shared = await asyncio.to_thread(checked_policies, content)
    except ConfigurationFileError as error:
        mistakes = [
            Mistake(place=f"{one.key or 'policy'} (line {one.line})", message=one.message) for one in error.mistakes
        ]
        raise Problem("invalid", str(error), errors=mistakes[:50]) from None
    except ConfigurationError as error:
        raise Problem("invalid", str(error)) from None
    _check_tenant(tenant, shared)
    plain = [dict(one) for one in shared.policies]
    if masked(plain) != plain:
        raise Problem("invalid", "a policy has a secret in it; name an environment variable of the processes instead")
    return shared


def _check_tenant(tenant: str, shared: Shared) -> None:
    for one in shared.policies:
        if tenant and one.get("tenant_id", tenant) != tenant:
            raise Problem("invalid", f"policy {one['id']!r}: tenant_id is another tenant's; remove it")


async def _current(connection: AsyncConnection, tenant: str) -> PolicyVersion:
    query = select(_table).where(_table.c.tenant_id == tenant).order_by(_table.c.version.desc()).limit(1)
    row = (await connection.execute(query)).mappings().first()
    return PolicyVersion(tenant) if row is None else _version(row)


async def _add(
    connection: AsyncConnection, principal: Principal, action: str, tenant: str, content: str, comment: str
) -> PolicyVersion:
    digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
    values = {"content": content, "digest": digest, "actor": principal.subject, "comment": comment}
    row = insert(_table).values(tenant_id=tenant, created_ns=time.time_ns(), **values).returning(_table)
    added = _version((await connection.execute(row)).mappings().one())
    await record(connection, principal, action, str(added.version), tenant, digest=digest)
    return added


def _version(row: RowMapping) -> PolicyVersion:
    return PolicyVersion(
        row["tenant_id"],
        row["version"],
        row["content"],
        row["digest"],
        row["actor"],
        row["comment"],
        row["created_ns"],
    )
