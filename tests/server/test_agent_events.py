"""What webhooks are told of agents that are served: in jobs, and in runs that a caller waits for."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from sqlalchemy import select

from spanhook import Hooks, Operation, Reject
from spanhook.jobs import Agent, MemoryJobs, Runner, new_job
from spanhook.server import LOCAL, notify_of_agents
from spanhook.server.agent_events import AGENT_EVENTS
from spanhook.server.sealing import Seal
from spanhook.server.webhook_store import WebhookStore
from spanhook.store.control import Database, tables
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def listening(database: Database, *events: str, tenant: str = "acme") -> None:
    settings = {"url": "https://hooks.example/", "events": list(events), "enabled": True, "ordered": False}
    await WebhookStore(database, Seal(b"k" * 32)).create(LOCAL, tenant, settings)


async def sent(database: Database) -> list[dict[str, Any]]:
    async with database.reading() as connection:
        query = select(tables.webhook_deliveries).order_by(tables.webhook_deliveries.c.id)
        rows = (await connection.execute(query)).all()
    return [json.loads(row.body) for row in rows]


async def support(question: Any) -> str:
    if question == "fail":
        raise ValueError("a secret")
    return "On its way"


async def call(runner: Runner, question: str) -> None:
    await runner.call(new_job("support", question, tenant_id="acme", session_id="s1"))


async def submit(runner: Runner, question: str) -> None:
    job = await runner.submit(new_job("support", question, tenant_id="acme", session_id="s1"))
    assert [event.type async for event in runner.events(job.job_id)][-1] == "done"


@pytest.mark.parametrize("ask", [call, submit])
async def test_each_run_of_an_agent_is_told(
    database: Database, ask: Callable[[Runner, str], Coroutine[Any, Any, None]]
) -> None:
    hooks = Hooks()

    @hooks.before("agent.invoke")
    def gate(op: Operation) -> None:
        if op.request.inputs == "refuse":
            raise Reject("not now")

    await listening(database, "agent.*")
    await listening(database, *AGENT_EVENTS, tenant="other")
    with recorder(hooks, only=()):
        runner = Runner({"support": Agent("support", support)}, MemoryJobs())
        async with notify_of_agents(database):
            await runner.start()
            for question in ("hello", "fail", "refuse"):
                await ask(runner, question)
            await runner.close()
        await ask_after_the_end(support)
    events = await sent(database)
    assert [(one["type"].removeprefix("spanhook."), one["data"].get("status", "")) for one in events] == [
        ("agent.start", ""),
        ("agent.end", "success"),
        ("agent.start", ""),
        ("agent.error", "error"),
        ("agent.error", "rejected"),
    ]
    whose = ("agent_name", "tenant_id", "conversation_id")
    assert {tuple(one["data"][name] for name in whose) for one in events} == {("support", "acme", "s1")}
    assert {one["subject"] for one in events} == {one["data"]["run_id"] for one in events}
    assert "secret" not in str(events)
    assert all(one["data"].keys().isdisjoint({"input", "output", "error", "type", "alias"}) for one in events)


async def ask_after_the_end(function: Any) -> None:
    """A run that is not the server's own: nobody is told."""
    await Agent("late", function).run("hello", "", lambda *_: None)
