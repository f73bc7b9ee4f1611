"""API keys in the database."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import RowMapping, insert, select, update

from spanhook.errors import ConfigurationError, StoreError
from spanhook.server.audit import record
from spanhook.server.keys import is_secret, new_key
from spanhook.server.scopes import OF_TENANTS, OPERATORS, SCOPES, Principal, Scope, scopes_of
from spanhook.store.control import Database, tables

_table = tables.api_keys
_NOTED_EVERY_NS = 60 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key as it is kept.

    Attributes:
        key_id: Its id.
        name: What it is for.
        tenant: Its tenant; empty for an operator's.
        scopes: What its bearer may do.
        created_ns, expires_ns, revoked_ns, used_ns: Nanoseconds since the epoch; 0 for never.
    """

    key_id: str
    name: str
    tenant: str
    scopes: frozenset[Scope]
    created_ns: int
    expires_ns: int
    revoked_ns: int
    used_ns: int


class KeyStore:
    """The API keys of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(
        self, by: Principal, name: str, tenant: str, scopes: Iterable[str], *, days: int | None = None
    ) -> tuple[str, ApiKey]:
        """Create a key.

        Args:
            by: Who creates it.
            name: What it is for.
            tenant: The tenant of its bearer; empty for an operator.
            scopes: What its bearer may do. In place of ``hooks:admin``, a tenant's key has the scopes of tenants.
            days: After how many days it expires; ``None`` for never.

        Returns:
            The key, which cannot be had again, and what is kept of it.

        Raises:
            ConfigurationError: There is no such scope, or none was given.
            StoreError: The database cannot be used now.
        """
        given = list(scopes)
        unknown = [one for one in given if one not in SCOPES]
        if unknown or not given:
            said = f"there is no scope {unknown[0]!r}" if unknown else "a key needs a scope"
            raise ConfigurationError(f"{said}; scopes are {', '.join(SCOPES)}")
        if tenant and OPERATORS in given:
            given = [one for one in given if one != OPERATORS] + list(OF_TENANTS)
        key, now = new_key(), time.time_ns()
        expires = now + days * 86400 * 1_000_000_000 if days is not None else 0
        kept = ApiKey(key.key_id, name, tenant, scopes_of(given, operator=not tenant), now, expires, 0, 0)
        async with self._database.writing() as connection:
            await connection.execute(
                insert(_table).values(
                    key_id=key.key_id,
                    hash=key.hash,
                    name=name,
                    tenant_id=tenant,
                    scopes=sorted(set(given)),
                    created_by=by.subject,
                    created_ns=now,
                    expires_ns=expires,
                )
            )
            await record(connection, by, "key.create", key.key_id, tenant, name=name, scopes=sorted(set(given)))
        return key.text, kept

    async def all(self) -> list[ApiKey]:
        """All keys, the oldest first.

        Raises:
            StoreError: The database cannot be used now.
        """
        async with self._database.reading() as connection:
            rows = (await connection.execute(select(_table).order_by(_table.c.created_ns, _table.c.key_id))).all()
        return [_of(row._mapping) for row in rows]

    async def revoke(self, by: Principal, key_id: str) -> bool:
        """Revoke a key at once. Returns whether there was one that held.

        Raises:
            StoreError: The database cannot be used now.
        """
        async with self._database.writing() as connection:
            changed = await connection.execute(
                update(_table)
                .where(_table.c.key_id == key_id, _table.c.revoked_ns == 0)
                .values(revoked_ns=time.time_ns())
                .returning(_table.c.tenant_id)
            )
            tenant = changed.scalar_one_or_none()
            if tenant is not None:
                await record(connection, by, "key.revoke", key_id, tenant)
        return tenant is not None

    async def verify(self, key_id: str, secret: str) -> Principal | None:
        """Whose key it is; ``None`` if there is no such key, or it has expired or was revoked.

        Raises:
            StoreError: The database cannot be used now.
        """
        async with self._database.reading() as connection:
            row = (await connection.execute(select(_table).where(_table.c.key_id == key_id))).first()
        if not is_secret(secret, row.hash if row is not None else None) or row is None:
            return None
        key, now = _of(row._mapping), time.time_ns()
        if key.revoked_ns or (key.expires_ns and now >= key.expires_ns):
            return None
        if now - key.used_ns > _NOTED_EVERY_NS:
            await self._note_use(key_id, now)
        return Principal(key_id, key.tenant, not key.tenant, key.scopes, "key")

    async def kept(self, key_id: str) -> str | None:
        """The hash that is kept of a key's secret; ``None`` if there is no such key.

        Raises:
            StoreError: The database cannot be used now.
        """
        async with self._database.reading() as connection:
            found = await connection.execute(select(_table.c.hash).where(_table.c.key_id == key_id))
            return found.scalar_one_or_none()

    async def _note_use(self, key_id: str, now: int) -> None:
        """Note when a key was used. It is not worth a failed request, such as when the disk is full."""
        try:
            async with asyncio.timeout(2), self._database.writing() as connection:
                await connection.execute(update(_table).where(_table.c.key_id == key_id).values(used_ns=now))
        except (StoreError, TimeoutError):
            return


def _of(row: RowMapping) -> ApiKey:
    return ApiKey(
        row["key_id"],
        row["name"],
        row["tenant_id"],
        scopes_of(row["scopes"] or (), operator=not row["tenant_id"]),
        row["created_ns"],
        row["expires_ns"],
        row["revoked_ns"],
        row["used_ns"],
    )
