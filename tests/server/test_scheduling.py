"""Ticks as jobs: refused ones, cancelled ones, and those whose gates are asked once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from spanhook import Reject
from spanhook.jobs import Agent, JobFilter, MemoryJobs, Runner, RunnerSettings
from spanhook.model import current_operation
from spanhook.runs import RejectRun, RunContext, RunHooks, set_hooks
from spanhook.schedules import CronEntry, Execution, LostError, Outcome, execute
from spanhook.server.scheduling import JobFailedError, Jobs

pytestmark = pytest.mark.anyio
TICK = datetime(2026, 1, 30, 9, tzinfo=UTC)
spans = list[tuple[str, str]]()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def echo(given: Any) -> Any:
    op = current_operation()
    assert op is not None
    spans.append((op.kind, op.identity.tenant_id))
    return given


async def failing(_given: Any) -> None:
    raise ValueError("a secret")


async def refusing(_given: Any) -> None:
    raise Reject("no money", status_code=402)


async def waiting(_given: Any) -> None:
    await asyncio.sleep(3600)


AGENTS = {one.__name__: Agent(one.__name__, one) for one in (echo, failing, refusing, waiting)}


@asynccontextmanager
async def running() -> AsyncGenerator[Runner]:
    runner = Runner(AGENTS, MemoryJobs(), None, RunnerSettings(beat_s=0.02, drain_s=0.1))
    await runner.start()
    try:
        yield runner
    finally:
        await runner.close()


async def ticked(runner: Runner, agent: str, jobs: list[str]) -> Outcome:
    entry = CronEntry(id="news", schedule="0 9 * * *", agent=agent, input="hi", tenant_id="acme")
    execution = Execution(f"exec_{agent}", TICK)
    return await execute(entry, execution, lambda: Jobs(runner)(entry, execution, jobs.append))


async def test_a_tick_has_the_outcome_of_its_job() -> None:
    jobs = list[str]()
    async with running() as runner:
        assert (await ticked(runner, "echo", jobs)).result == "hi"
        failed = await ticked(runner, "failing", jobs)
        refused = await ticked(runner, "refusing", jobs)
        kept = [job.job_id for job in await runner.store.list(JobFilter("acme"))]
    assert isinstance(failed.error, JobFailedError)
    assert (failed.error.error_type, "secret" in str(failed.error)) == ("ValueError", False)
    assert isinstance(refused.error, Reject)
    assert (refused.error.reason, refused.error.status_code) == ("no money", 402)
    assert sorted(kept) == sorted(jobs)
    assert spans == [("agent.invoke", "acme")]


async def test_a_tick_whose_job_is_cancelled_is_cancelled() -> None:
    jobs = list[str]()
    async with running() as runner:
        task = asyncio.create_task(ticked(runner, "waiting", jobs))
        async with asyncio.timeout(30):
            while True:
                if jobs:
                    break
                await asyncio.sleep(0.005)
        await runner.cancel(jobs[0], None)
        assert isinstance((await task).error, asyncio.CancelledError)


async def test_the_job_of_a_tick_is_found_again() -> None:
    jobs, entry = list[str](), CronEntry(id="news", schedule="0 9 * * *", agent="echo", input="hi", tenant_id="acme")
    async with running() as runner:
        await ticked(runner, "echo", jobs)
        follow = Jobs(runner).follow
        assert await follow(entry, Execution("exec_echo", TICK, 1), jobs.append) == "hi"
        with pytest.raises(LostError):
            await follow(entry, Execution("exec_other", TICK, 1), jobs.append)
    assert jobs[0] == jobs[1]


async def test_before_run_is_asked_once_and_a_refusal_leaves_no_job() -> None:
    hooks, told, jobs = RunHooks(), list[str](), list[str]()

    @hooks.before_run
    async def before(ctx: RunContext) -> None:
        told.append(f"before {ctx.graph_id}")
        if ctx.graph_id == "failing":
            raise RejectRun("too many", 429)

    @hooks.after_run
    def after(ctx: RunContext) -> None:
        told.append(f"after {ctx.graph_id}")

    set_hooks(hooks)
    try:
        async with running() as runner:
            refused = await ticked(runner, "failing", jobs)
            assert isinstance(refused.error, Reject)
            assert (refused.error.reason, jobs) == ("too many", [])
            assert await runner.store.list(JobFilter("acme")) == []
            await ticked(runner, "echo", jobs)
    finally:
        set_hooks(None)
    assert told == ["before failing", "before echo", "after echo"]
