"""Jobs as their callers see them: with a real runner, and each store."""

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

import spanhook
from spanhook import Hooks, Reject
from spanhook.engine import registry
from spanhook.errors import StoreError
from spanhook.jobs import (
    Agent,
    FullError,
    Job,
    JobEvent,
    JobFilter,
    MemoryJobs,
    Runner,
    RunnerSettings,
    Transition,
    TransitionError,
    new_job,
)
from spanhook.runs import RejectRun, RunContext, RunHooks, set_hooks

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@spanhook.tool
async def look_up(word: str) -> str:
    return word.upper()


async def answering(given: Any) -> AsyncIterator[str]:
    yield "Hello "
    yield await look_up(given)


async def failing(_given: Any) -> str:
    raise ValueError("no such thing")


async def waiting(_given: Any) -> str:
    await asyncio.sleep(3600)
    return "never"


async def exiting(_given: Any) -> None:
    sys.exit(3)


AGENTS = {
    "answering": Agent("answering", answering),
    "failing": Agent("failing", failing),
    "waiting": Agent("waiting", waiting, "safe"),
    "stuck": Agent("stuck", waiting),
    "exiting": Agent("exiting", exiting),
}


@asynccontextmanager
async def running(store: MemoryJobs) -> AsyncGenerator[Runner]:
    runner = Runner(AGENTS, store, None, RunnerSettings(beat_s=0.02, drain_s=0.1))
    await runner.start()
    try:
        yield runner
    finally:
        await runner.close()


async def read(runner: Runner, job: Job, after: int = 0) -> list[JobEvent]:
    return [event async for event in runner.events(job.job_id, after)]


async def test_a_job_runs_to_its_end_and_tells_of_it() -> None:
    async with running(MemoryJobs()) as runner:
        job = await runner.submit(new_job("answering", "ada"))
        assert job.status == "queued"
        events = await read(runner, job)
        assert [event.id for event in events] == list(range(1, len(events) + 1))
        types = [event.type for event in events]
        assert types[:2] == ["status", "status"]
        assert types[-2:] == ["status", "done"]
        assert sorted(types[2:-2]) == ["text:delta", "text:delta", "tool:call", "tool:result"]
        done = await runner.store.get(job.job_id)
        assert done is not None
        assert (done.status, done.result, done.tools, done.attempts) == ("completed", "Hello ADA", ("look_up",), 1)
        assert [event.id for event in await read(runner, job, 3)] == list(range(4, len(events) + 1))


async def test_a_job_that_fails_says_why() -> None:
    async with running(MemoryJobs()) as runner:
        job = await runner.submit(new_job("failing", None))
        assert (await read(runner, job))[-1].data["error_type"] == "ValueError"
        done = await runner.store.get(job.job_id)
        assert done is not None
        assert (done.status, done.error) == ("failed", "no such thing")


async def test_cancel_stops_the_work_and_stays() -> None:
    async with running(MemoryJobs()) as runner:
        job = await runner.submit(new_job("waiting", None))
        async for event in runner.events(job.job_id):
            if event.data.get("status") == "running":
                break
        cancelled = await runner.cancel(job.job_id)
        assert cancelled is not None
        assert cancelled.status == "cancelled"
        assert (await read(runner, job))[-1].data["status"] == "cancelled"
        with pytest.raises(TransitionError):
            await runner.cancel(job.job_id)


async def test_a_refused_job_does_not_exist_and_the_gate_is_asked_once() -> None:
    hooks, asked, began = Hooks(), list[str](), list[str]()

    @hooks.before("job")
    def gate(op: spanhook.Operation) -> None:
        asked.append(op.name)
        if op.name == "failing":
            raise Reject("not now", status_code=402)

    hooks.on("job:start", lambda event: began.append(event.job_id))
    registry.swap(None, hooks)
    try:
        async with running(MemoryJobs()) as runner:
            with pytest.raises(Reject, match="not now"):
                await runner.submit(new_job("failing", None))
            job = await runner.submit(new_job("answering", "x"))
            await read(runner, job)
            hooks.flush()
            assert asked == ["failing", "answering"]
            assert began == [job.job_id]
    finally:
        registry.swap(hooks, None)


async def test_the_same_key_gives_the_same_job() -> None:
    async with running(MemoryJobs()) as runner:
        first = await runner.submit(new_job("answering", "x", key="k"))
        again = await runner.submit(new_job("answering", "x", key="k"))
        other = await runner.submit(new_job("answering", "x", key="k", tenant_id="acme"))
        assert again.job_id == first.job_id != other.job_id


async def test_what_a_dead_process_leaves_is_run_again_only_if_that_is_safe() -> None:
    store = MemoryJobs()
    for name, retry in (("answering", "safe"), ("failing", "never")):
        left = new_job(name, "x", status="running", retry=retry, worker="worker_dead", attempts=1, lease_ns=1)
        await store.create(left)
    async with running(store) as runner:
        for job in list(await store.list(JobFilter())):
            await read(runner, job)
        found = {job.agent: job for job in await store.list(JobFilter())}
        assert (found["answering"].status, found["answering"].attempts) == ("completed", 2)
        assert (found["failing"].status, found["failing"].error_type) == ("failed", "ProcessEnded")
        assert runner.agent("failing")


async def test_a_drain_gives_safe_jobs_back() -> None:
    store = MemoryJobs()
    async with running(store) as runner:
        job = await runner.submit(new_job("waiting", None))
        async for event in runner.events(job.job_id):
            if event.data.get("status") == "running":
                break
    left = await store.get(job.job_id)
    assert left is not None
    assert (left.status, left.attempts) == ("queued", 1)


async def test_before_run_is_asked_once_and_after_run_is_told_at_the_end() -> None:
    hooks, told = RunHooks(), list[str]()

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
        async with running(MemoryJobs()) as runner:
            with pytest.raises(RejectRun):
                await runner.submit(new_job("failing", None))
            await read(runner, await runner.submit(new_job("answering", "x")))
            assert await runner.store.list(JobFilter(agent="failing")) == []
        assert told == ["before failing", "before answering", "after answering"]
    finally:
        set_hooks(None)


async def test_a_host_that_would_end_is_told_what_to_wait_for() -> None:
    waited: list[Awaitable[None]] = []
    runner = Runner(AGENTS, MemoryJobs(), wait_until=waited.append)
    await runner.start()
    try:
        job = await runner.submit(new_job("answering", "x"))
        await waited[0]
        kept = await runner.store.get(job.job_id)
        assert kept is not None
        assert kept.status == "completed"
        cancelled = await runner.submit(new_job("waiting", None))
        cast("asyncio.Future[None]", waited[1]).cancel()  # the host's to give up, the job goes on
        await asyncio.sleep(0)
        left = await runner.store.get(cancelled.job_id)
        assert left is not None
        assert not left.finished
    finally:
        await runner.close()


async def test_a_drain_lets_jobs_end_and_begins_no_more() -> None:
    go = asyncio.Event()

    async def going(_given: Any) -> str:
        await go.wait()
        return "went"

    store = MemoryJobs()
    runner = Runner({"going": Agent("going", going)}, store, None, RunnerSettings(concurrency=1, drain_s=60))
    await runner.start()
    first = await runner.submit(new_job("going", None))
    second = await runner.submit(new_job("going", None))
    async for event in runner.events(first.job_id):
        if event.data.get("status") == "running":
            break
    closing = asyncio.create_task(runner.close())
    await asyncio.sleep(0)
    with pytest.raises(FullError):
        await runner.submit(new_job("going", None))
    go.set()
    await closing
    ended, waits = await store.get(first.job_id), await store.get(second.job_id)
    assert ended is not None
    assert waits is not None
    assert (ended.status, ended.result) == ("completed", "went")
    assert (waits.status, waits.attempts, waits.lease_ns) == ("queued", 0, 0)


async def test_what_cannot_end_in_time_has_failed_unless_it_may_run_again() -> None:
    store = MemoryJobs()
    async with running(store) as runner:
        job = await runner.submit(new_job("stuck", None))
        async for event in runner.events(job.job_id):
            if event.data.get("status") == "running":
                break
    kept = await store.get(job.job_id)
    assert kept is not None
    assert (kept.status, kept.error_type) == ("failed", "Drained")


async def test_more_than_may_wait_is_refused() -> None:
    runner = Runner(AGENTS, MemoryJobs(), None, RunnerSettings(concurrency=1, waiting=1, drain_s=0))
    await runner.start()
    try:
        asked = [runner.submit(new_job("waiting", None)) for _ in range(5)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(one, FullError) for one in found].count(True) == 3
    finally:
        await runner.close()


async def test_a_store_that_is_away_for_a_while_loses_no_end() -> None:
    class Away(MemoryJobs):
        away = 0

        async def move(self, job_id: str, change: Transition) -> Job | None:
            if change.to == "completed" and self.away < 2:
                self.away += 1
                raise StoreError("away")
            return await super().move(job_id, change)

    store = Away()
    async with running(store) as runner:
        job = await runner.submit(new_job("answering", "x"))
        assert (await read(runner, job))[-1].data["status"] == "completed"
    assert store.away == 2


async def test_an_agent_that_exits_has_failed_and_the_process_goes_on() -> None:
    async with running(MemoryJobs()) as runner:
        job = await runner.submit(new_job("exiting", None))
        assert (await read(runner, job))[-1].data["error_type"] == "SystemExit"


async def test_readers_that_come_late_hear_what_is_gone() -> None:
    runner = Runner(AGENTS, MemoryJobs(), None, RunnerSettings(grace_s=0))
    await runner.start()
    try:
        job = await runner.submit(new_job("answering", "x"))
        first = await read(runner, job)
        await asyncio.sleep(0.01)
        late = await read(runner, job, 2)
        assert [(one.id, one.type) for one in late] == [(len(first) - 1, "lost"), (len(first), "done")]
        assert late[0].data == {"from": 3, "to": len(first) - 1}
        assert await read(runner, job, len(first)) == []
    finally:
        await runner.close()
