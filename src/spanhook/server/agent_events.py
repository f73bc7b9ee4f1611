"""What webhooks are told of the runs of agents that this process serves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from opentelemetry.trace import set_span_in_context

from spanhook.diagnostics import internal
from spanhook.engine import registry
from spanhook.errors import StoreError
from spanhook.gating import Hooks
from spanhook.model import ALIASES, Event
from spanhook.server.webhook_outbox import publish
from spanhook.store.control import Database
from spanhook.webhooks import traceparent

_KIND = "agent.invoke"
AGENT_EVENTS = tuple(name.replace(":", ".") for name, alias in ALIASES.items() if alias.kind == _KIND)
"""What webhooks are told of an agent, in the order in which it may happen."""
_NOT_TOLD = ("type", "alias")
"""Keys of a payload that the envelope has."""
_FLUSH_S = 2.0


@asynccontextmanager
async def notify_of_agents(database: Database) -> AsyncGenerator[None]:
    """Put the events of agents that run in this process into the outbox: ``AGENT_EVENTS``.

    They are put there once they are reported, apart from what they tell of: if the database is away, they are lost,
    which is counted.
    """

    def put(event: Event) -> None:
        facts = {name: value for name, value in event.payload().items() if name not in _NOT_TOLD}
        trace = traceparent(set_span_in_context(event.span))
        try:
            with database.writing_here() as connection:
                publish(
                    connection,
                    event.tenant_id,
                    event.alias.replace(":", "."),
                    facts,
                    subject=event.run_id,
                    trace=trace,
                )
        except StoreError as error:
            internal.report("webhooks.outbox", error, lost=1)

    hooks = Hooks()
    hooks.on(_KIND, put, name="webhooks of agents")
    registry.swap(None, hooks)
    try:
        yield
    finally:
        await asyncio.to_thread(hooks.flush, _FLUSH_S)
        registry.swap(hooks, None)
