"""What operations inside a job report is in its stream."""

import asyncio
import json
from typing import Any

import pytest

import spanhook
from spanhook import Hooks
from spanhook.engine import registry
from spanhook.hooks.approval import Approval
from spanhook.hooks.pii_redaction import PIIRedaction
from spanhook.jobs import Agent, MemoryJobs, Runner, new_job
from spanhook.jobs.watching import Watcher
from spanhook.store import open_approvals

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@spanhook.tool
async def close_account(account: str) -> str:
    return f"closed {account}"


@spanhook.agent("clerk")
async def clerk(account: str) -> str:
    async with spanhook.operation("llm.call", "m1", provider="acme", request={"messages": []}) as op:
        op.record_usage(input_tokens=7, output_tokens=5)
    return await close_account(account)


@spanhook.agent("manager")
async def manager(account: str) -> str:
    return await clerk(account)


async def test_calls_results_delegations_and_usage_are_told_in_order() -> None:
    runner = Runner({"m": Agent("m", manager)}, MemoryJobs())
    await runner.start()
    try:
        job = await runner.submit(new_job("m", "7"))
        events = [event async for event in runner.events(job.job_id)]
    finally:
        await runner.close()
    told = {event.type: event.data for event in events}
    assert {"agent:delegate", "tool:call", "tool:result", "usage"} <= told.keys()
    assert told["agent:delegate"] == {"from": "manager", "to": "clerk"}
    assert told["tool:call"]["tool"] == told["tool:result"]["tool"] == "close_account"
    assert (told["tool:call"]["agent"], told["tool:result"]["status"]) == ("clerk", "success")
    assert (told["usage"]["model"], told["usage"]["input_tokens"]) == ("m1", 7)
    assert (told["done"]["usage"]["input_tokens"], told["done"]["tools"]) == (7, ["close_account"])


async def test_who_waits_for_a_person_says_so(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path / 'approvals.db'}"

    def approve(id: str) -> None:
        open_approvals(store).answer(id, approve=True, by="eve", reason="", checked=True)

    hooks = Hooks()
    hooks.add(Approval(store=store, wait=30, poll=0.01, title="Close it?"))
    registry.swap(None, hooks)
    runner = Runner({"m": Agent("m", manager)}, MemoryJobs())
    await runner.start()
    try:
        job = await runner.submit(new_job("m", "7", tenant_id="acme", user_id="ada"))
        waited: list[dict[str, Any]] = []
        async for event in runner.events(job.job_id):
            if event.type == "approval:waiting":
                waited.append(dict(event.data))
                await asyncio.to_thread(approve, event.data["approval_id"])
        assert [(one["tool"], one["title"], one["agent"]) for one in waited] == [
            ("close_account", "Close it?", "clerk")
        ]
        done = await runner.store.get(job.job_id, "acme")
        assert done is not None
        assert (done.status, done.result) == ("completed", "closed 7")
    finally:
        await runner.close()
        registry.swap(hooks, None)


async def test_what_other_runs_report_is_not_told() -> None:
    go = asyncio.Event()

    async def waits(_given: Any) -> None:
        await go.wait()

    runner = Runner({"w": Agent("w", waits)}, MemoryJobs())
    await runner.start()
    try:
        job = await runner.submit(new_job("w", None))
        await manager("8")
        go.set()
        assert {event.type async for event in runner.events(job.job_id)} == {"status", "done"}
    finally:
        await runner.close()


async def test_what_is_told_is_bounded_and_what_hooks_conceal_is_in_no_event() -> None:
    @spanhook.tool
    async def lookup(person: dict[str, str]) -> dict[str, str]:
        return {"body": f"{person['mail']} {'x' * 100_000}"}

    async def agent(mail: str) -> str:
        await lookup({"mail": mail, "about": "y" * 300_000 if mail == "eve@acme.example" else ""})
        return "done"

    hooks = Hooks()
    hooks.add(PIIRedaction())
    registry.swap(None, hooks)
    runner = Runner({"a": Agent("a", agent)}, MemoryJobs())
    await runner.start()
    try:
        for mail in ("ada@acme.example", "eve@acme.example"):
            job = await runner.submit(new_job("a", mail, tenant_id="acme"))
            told = {event.type: event.data async for event in runner.events(job.job_id)}
            said = json.dumps([told["tool:call"], told["tool:result"]])
            assert mail not in said
            assert len(said) < 50_000
            assert told["tool:result"]["status"] == "success"
    finally:
        await runner.close()
        registry.swap(hooks, None)


async def test_a_job_is_watched_no_longer_even_if_its_end_is_cancelled() -> None:
    watcher = Watcher()
    watcher.watch(new_job("a", None), print)
    settling = asyncio.create_task(watcher.settle(next(iter(watcher._watched))))
    await asyncio.sleep(0)
    settling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await settling
    assert not watcher._watched
