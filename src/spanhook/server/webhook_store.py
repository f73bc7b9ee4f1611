"""Webhooks in the database: who may see and change which, their secrets, and what was delivered."""

import time
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from sqlalchemy import and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from spanhook.server.audit import record
from spanhook.server.cursors import cursor_of, position
from spanhook.server.masking import masked
from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal
from spanhook.server.sealing import Seal
from spanhook.server.stored_webhooks import Delivery, Webhook, stored_delivery, stored_webhook
from spanhook.server.webhook_outbox import PING, Published, add, publish
from spanhook.store import State
from spanhook.store.control import Database, tables
from spanhook.webhooks import new_secret

MOST = 50
"""How many webhooks a tenant may have."""
_hooks, _deliveries = tables.webhooks, tables.webhook_deliveries
_SECOND = 1_000_000_000


class WebhookStore:
    """The webhooks of a database. All methods raise ``StoreError`` if it cannot be used now.

    Args:
        database: The database.
        seal: What encrypts the secrets.
    """

    def __init__(self, database: Database, seal: Seal) -> None:
        self._database, self._seal = database, seal

    async def create(self, principal: Principal, tenant: str, fields: Mapping[str, Any]) -> tuple[Webhook, str]:
        """Store a new endpoint. Returns it with its secret, which cannot be had again.

        Raises:
            Problem: The tenant is not the caller's, or has too many.
        """
        if tenant != principal.tenant and not principal.operator:
            raise Problem("not_found", f"there is no tenant {tenant!r} here")
        webhook_id, secret, now = f"wh_{token_hex(8)}", new_secret(), time.time_ns()
        values = {**fields, "tenant_id": tenant, "secret": self._seal.close(secret, webhook_id), "secret_before": b""}
        async with self._database.writing() as connection:
            count = select(func.count()).select_from(_hooks).where(_hooks.c.tenant_id == tenant)
            if (await connection.execute(count)).scalar_one() >= MOST:
                raise Problem("conflict", f"there are {MOST} webhooks; delete one first")
            row = insert(_hooks).values(webhook_id=webhook_id, version=1, created_ns=now, updated_ns=now, **values)
            made = stored_webhook((await connection.execute(row.returning(_hooks))).mappings().one())
            await _record(connection, principal, "webhook.create", made)
        return made, secret

    async def get(self, principal: Principal, webhook_id: str) -> Webhook:
        """An endpoint of the caller's.

        Raises:
            Problem: There is none.
        """
        async with self._database.reading() as connection:
            return await _found(connection, principal, webhook_id)

    async def page(
        self, principal: Principal, *, cursor: str | None = None, limit: int = 100
    ) -> tuple[list[Webhook], str]:
        """The caller's endpoints in the order of their creation, and the cursor of the next page."""
        query = select(_hooks).order_by(_hooks.c.created_ns, _hooks.c.webhook_id).limit(limit + 1)
        if not principal.operator:
            query = query.where(_hooks.c.tenant_id == principal.tenant)
        if cursor is not None:
            created, last = position(cursor)
            after = and_(_hooks.c.created_ns == created, _hooks.c.webhook_id > last)
            query = query.where(or_(_hooks.c.created_ns > created, after))
        async with self._database.reading() as connection:
            rows = [stored_webhook(row) for row in (await connection.execute(query)).mappings()]
        more = cursor_of(rows[limit - 1].created_ns, rows[limit - 1].webhook_id) if len(rows) > limit else ""
        return rows[:limit], more

    async def change(self, principal: Principal, webhook_id: str, fields: Mapping[str, Any]) -> Webhook:
        """Change fields of an endpoint. Enabling it forgets its failures.

        Raises:
            Problem: There is none.
        """
        values = dict(fields)
        if values.get("enabled"):
            values |= {"failures": 0, "disabled_reason": ""}
        async with self._database.writing() as connection:
            await _found(connection, principal, webhook_id)
            return await self._change(connection, principal, "webhook.update", webhook_id, values)

    async def rotate(self, principal: Principal, webhook_id: str, keep_s: float) -> tuple[Webhook, str]:
        """Give an endpoint a new secret, and use the one before for a while, too.

        Args:
            principal: Who does so.
            webhook_id: The endpoint.
            keep_s: Seconds for which deliveries are signed with both.

        Raises:
            Problem: There is none.
        """
        secret = new_secret()
        async with self._database.writing() as connection:
            await _found(connection, principal, webhook_id)
            values = {
                "secret": self._seal.close(secret, webhook_id),
                "secret_before": _hooks.c.secret,
                "before_until_ns": time.time_ns() + int(keep_s * _SECOND),
            }
            return await self._change(connection, principal, "webhook.rotate", webhook_id, values), secret

    async def delete(self, principal: Principal, webhook_id: str) -> Webhook:
        """Delete an endpoint. What was not delivered to it is dead.

        Raises:
            Problem: There is none.
        """
        async with self._database.writing() as connection:
            await _found(connection, principal, webhook_id)
            gone = delete(_hooks).where(_hooks.c.webhook_id == webhook_id).returning(_hooks)
            row = (await connection.execute(gone)).mappings().first()
            if row is None:
                raise _nothing(webhook_id)
            pending = and_(_deliveries.c.webhook_id == webhook_id, _deliveries.c.state == "pending")
            ended = {"state": "dead", "ended_ns": time.time_ns(), "lease": "", "leased_until_ns": 0}
            await connection.execute(update(_deliveries).where(pending).values(**ended))
            await _record(connection, principal, "webhook.delete", deleted := stored_webhook(row))
        return deleted

    async def deliveries(
        self,
        principal: Principal,
        webhook_id: str,
        *,
        state: State | None = None,
        cursor: str | None = None,
        limit: int = 100,
    ) -> tuple[list[Delivery], str]:
        """What was delivered to an endpoint or is to be, the newest first, and the cursor of the next page.

        Raises:
            Problem: There is no such endpoint.
        """
        query = select(_deliveries).where(_deliveries.c.webhook_id == webhook_id)
        query = query.order_by(_deliveries.c.id.desc()).limit(limit + 1)
        if state is not None:
            query = query.where(_deliveries.c.state == state)
        if cursor is not None:
            query = query.where(_deliveries.c.id < position(cursor)[0])
        async with self._database.reading() as connection:
            await _found(connection, principal, webhook_id)
            rows = (await connection.execute(query)).mappings().all()
        more = cursor_of(rows[limit - 1]["id"]) if len(rows) > limit else ""
        return [stored_delivery(row) for row in rows[:limit]], more

    async def resend(self, principal: Principal, webhook_id: str, delivery_id: str) -> Delivery:
        """Deliver an event again, as a new delivery with the same event id.

        Raises:
            Problem: There is no such delivery, or it is pending.
        """
        query = select(_deliveries).where(
            _deliveries.c.delivery_id == delivery_id, _deliveries.c.webhook_id == webhook_id
        )
        async with self._database.writing() as connection:
            hook = await _found(connection, principal, webhook_id)
            row = (await connection.execute(query)).mappings().first()
            if row is None:
                raise Problem("not_found", f"there is no delivery {delivery_id!r} here")
            if row["state"] == "pending":
                raise Problem("conflict", "the delivery is pending: it is tried again by itself")
            event = Published(*(row[name] for name in Published._fields))
            (added,) = await connection.run_sync(add, [webhook_id], hook.tenant, event)
            await record(connection, principal, "webhook.resend", webhook_id, hook.tenant, delivery=delivery_id)
            return await _one(connection, _deliveries.c.delivery_id == added)

    async def ping(self, principal: Principal, webhook_id: str) -> Delivery:
        """Send a test event to an endpoint, even to a disabled one.

        Raises:
            Problem: There is no such endpoint.
        """
        async with self._database.writing() as connection:
            hook = await _found(connection, principal, webhook_id)
            event_id = await connection.run_sync(
                lambda one: publish(one, hook.tenant, PING, {"webhook_id": webhook_id}, only=webhook_id)
            )
            await record(connection, principal, "webhook.ping", webhook_id, hook.tenant)
            return await _one(connection, _deliveries.c.event_id == event_id)

    async def _change(
        self, connection: AsyncConnection, principal: Principal, action: str, webhook_id: str, values: dict[str, Any]
    ) -> Webhook:
        given = update(_hooks).where(_hooks.c.webhook_id == webhook_id)
        given = given.values(version=_hooks.c.version + 1, updated_ns=time.time_ns(), **values).returning(_hooks)
        row = (await connection.execute(given)).mappings().first()
        if row is None:
            raise _nothing(webhook_id)
        await _record(connection, principal, action, changed := stored_webhook(row))
        return changed


async def _found(connection: AsyncConnection, principal: Principal, webhook_id: str) -> Webhook:
    row = (await connection.execute(select(_hooks).where(_hooks.c.webhook_id == webhook_id))).mappings().first()
    if row is None or not principal.sees(row["tenant_id"]):
        raise _nothing(webhook_id)
    return stored_webhook(row)


async def _one(connection: AsyncConnection, where: Any) -> Delivery:
    return stored_delivery((await connection.execute(select(_deliveries).where(where))).mappings().one())


async def _record(connection: AsyncConnection, principal: Principal, action: str, one: Webhook) -> None:
    await record(
        connection,
        principal,
        action,
        one.webhook_id,
        one.tenant,
        version=one.version,
        enabled=one.enabled,
        url=masked(one.url),
    )


def _nothing(webhook_id: str) -> Problem:
    return Problem("not_found", f"there is no webhook {webhook_id!r} here")
