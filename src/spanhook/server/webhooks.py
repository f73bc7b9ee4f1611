"""Webhooks of one server: the endpoints, and what delivers to them while the application serves."""

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from sqlalchemy import delete, func, select

from spanhook.diagnostics import internal
from spanhook.errors import ConfigurationError, StoreError
from spanhook.server.problems import Problem
from spanhook.server.sealing import Seal
from spanhook.server.settings import secret_in
from spanhook.server.webhook_outbox import ServerOutbox
from spanhook.server.webhook_settings import WebhookSettings
from spanhook.server.webhook_store import WebhookStore
from spanhook.store.control import Database, tables
from spanhook.webhooks import Deliverer, DestinationError, Destinations, Sender

_DAY_NS = 86_400_000_000_000
_LOOK_S, _SWEPT = 15.0, 500
_table, _hooks = tables.webhook_deliveries, tables.webhooks


@dataclass(slots=True)
class WebhookFigures:
    """What became of deliveries.

    Attributes:
        attempts: How many attempts were ``delivered``, have ``failed``, or have left a delivery ``dead``.
        pending: How many deliveries to enabled endpoints waited at the last look.
        held: How many waited for their endpoints to be enabled.
        oldest_s: How many seconds the oldest of ``pending`` had waited then.
    """

    attempts: Counter[str]
    pending: int = 0
    held: int = 0
    oldest_s: float = 0.0


class Webhooks:
    """Webhooks of one server.

    Args:
        settings: What can be set of them.
        database: The database.

    Raises:
        ConfigurationError: The key or the certificates cannot be used.
    """

    def __init__(self, settings: WebhookSettings, database: Database) -> None:
        seal = Seal(secret_in(settings.key_env, "webhooks need"))
        self._settings, self._database = settings, database
        self._destinations = Destinations(settings.allowed_networks, plain_http=settings.plain_http)
        self._sender = Sender(self._destinations, timeout=settings.timeout, context=_context(settings.ca_file))
        self._outbox = ServerOutbox(database, seal, settings.failures)
        self._deliverer = Deliverer(self._outbox, self._sender, settings.schedule, at_once=settings.at_once)
        self._stopped = asyncio.Event()
        self.figures = WebhookFigures(self._deliverer.figures)
        self.store = WebhookStore(database, seal)

    async def check(self, url: str) -> None:
        """Refuse a URL that nothing is sent to. A name that does not resolve yet is accepted.

        Raises:
            Problem: Nothing is sent there.
        """
        try:
            destination = self._destinations.parse(url)
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(self._settings.timeout):
                    await self._destinations.addresses(destination)
        except DestinationError as error:
            raise Problem("invalid", f"url: {error}") from None

    def wake(self) -> None:
        """Deliver at once what was put into the outbox. Otherwise it is found within a second."""
        self._deliverer.wake()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Deliver as long as the application serves. Nothing is cancelled within the database."""
        tasks = [asyncio.create_task(one) for one in (self._deliver(), self._sweep())]
        try:
            yield
        finally:
            self._deliverer.stop()
            self._stopped.set()
            await asyncio.gather(*tasks)

    async def _deliver(self) -> None:
        while not self._stopped.is_set():
            try:
                await self._deliverer.run()
            except Exception as error:
                internal.report("webhook", error)
                await self._pause(_LOOK_S)

    async def _sweep(self) -> None:
        """Look how many deliveries wait, and delete those that have ended long ago, a few at a time."""
        while not self._stopped.is_set():
            deleted = 0
            try:
                await self._look()
                if self._settings.keep_days:
                    deleted = await self._delete(time.time_ns() - int(self._settings.keep_days * _DAY_NS))
            except StoreError:  # whoever needs the database says so
                pass
            except Exception as error:
                internal.report("webhook", error)
            await self._pause(0 if deleted == _SWEPT else _LOOK_S)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()

    async def _look(self) -> None:
        query = (
            select(_hooks.c.enabled, func.count(), func.min(_table.c.created_ns))
            .join(_hooks, _hooks.c.webhook_id == _table.c.webhook_id)
            .where(_table.c.state == "pending")
            .group_by(_hooks.c.enabled)
        )
        async with self._database.reading() as connection:
            found = {enabled: (count, oldest) for enabled, count, oldest in (await connection.execute(query)).all()}
        now = time.time_ns()
        self.figures.pending, oldest = found.get(True, (0, now))
        self.figures.held, _ = found.get(False, (0, now))
        self.figures.oldest_s = (now - oldest) / 1e9

    async def _delete(self, before_ns: int) -> int:
        old = select(_table.c.id).where(_table.c.ended_ns.between(1, before_ns)).limit(_SWEPT)
        async with self._database.writing() as connection:
            return (await connection.execute(delete(_table).where(_table.c.id.in_(old)))).rowcount


def _context(file: str) -> ssl.SSLContext | None:
    try:
        return ssl.create_default_context(cafile=file) if file else None
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"webhooks: ca_file {file!r} cannot be read: {error}") from None
