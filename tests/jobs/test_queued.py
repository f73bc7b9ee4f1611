"""A server and workers in one process, over a queue that the test holds."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

import spanhook
from spanhook.errors import StoreError
from spanhook.jobs import Agent, Job, JobEvent, JobFilter, MemoryJobs, QueuedRunner, QueueError, RunnerSettings, new_job
from spanhook.runs import RejectRun, RunContext, RunHooks, set_hooks
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Line:
    """A queue in which a job waits once.

    Attributes:
        away: Whether it cannot be used.
        put_times: How often jobs were put.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}
        self.away, self.put_times = False, 0

    async def ready(self) -> int:
        self._check()
        return len(self.waiting)

    async def put(self, job: Job) -> None:
        self._check()
        self.put_times += 1
        self.waiting[f"{job.job_id}.{job.attempts}"] = job.job_id

    def _check(self) -> None:
        if self.away:
            raise QueueError("the queue cannot be used now")

    def take(self) -> str:
        return self.waiting.pop(next(iter(self.waiting)))


class Kept:
    """Keeps the events of jobs for all runners."""

    def __init__(self) -> None:
        self.events: dict[str, list[JobEvent]] = {}

    async def append(self, job_id: str, events: Sequence[JobEvent]) -> None:
        self.events.setdefault(job_id, []).extend(events)

    async def read(self, job_id: str, after: int, limit: int = 500) -> Sequence[JobEvent]:
        return [event for event in self.events.get(job_id, ()) if event.id > after][:limit]

    async def last(self, job_id: str) -> int:
        return len(self.events.get(job_id, ()))


class Shared:
    """What a server and its workers share."""

    def __init__(self, store: MemoryJobs | None = None) -> None:
        self.store, self.log, self.line = store or MemoryJobs(), Kept(), Line()

    @asynccontextmanager
    async def runner(self, agents: Mapping[str, Agent], **settings: Any) -> AsyncGenerator[QueuedRunner]:
        given: dict[str, Any] = {"beat_s": 0.02, "drain_s": 0.1, **settings}
        how = RunnerSettings(**given)
        made = QueuedRunner(agents, self.store, self.log, how, self.line)
        await made.start()
        try:
            yield made
        finally:
            await made.close()

    async def job(self, job: Job) -> Job:
        found = await self.store.get(job.job_id)
        assert found is not None
        return found


async def until(check: Any) -> None:
    async with asyncio.timeout(30):
        while not check():  # noqa: ASYNC110 - another task's doing
            await asyncio.sleep(0.01)


async def answering(given: Any) -> Any:
    return given


async def waiting(_given: Any) -> None:
    await asyncio.sleep(3600)


AGENTS = {
    "answering": Agent("answering", answering),
    "waiting": Agent("waiting", waiting),
    "again": Agent("again", waiting, "safe"),
}


async def test_gates_are_asked_where_a_job_is_asked_for_and_told_of_its_end_where_it_ends() -> None:
    hooks, told = RunHooks(), list[str]()

    @hooks.before_run
    async def before(ctx: RunContext) -> None:
        told.append(f"before {ctx.graph_id}")
        if ctx.graph_id == "waiting":
            raise RejectRun("too many", 429)

    @hooks.after_run
    def after(ctx: RunContext) -> None:
        told.append(f"after {ctx.graph_id}")

    set_hooks(hooks)
    shared = Shared()
    try:
        async with shared.runner(AGENTS) as server, shared.runner(AGENTS) as worker:
            with pytest.raises(RejectRun):
                await server.submit(new_job("waiting", None))
            assert (await shared.store.list(JobFilter()), shared.line.waiting) == ([], {})
            job = await server.submit(new_job("answering", "x"))
            assert told == ["before waiting", "before answering"]
            assert await worker.take(shared.line.take())
            assert (await shared.job(job)).status == "completed"
        assert told == ["before waiting", "before answering", "after answering"]
    finally:
        set_hooks(None)


async def test_the_work_is_in_the_trace_of_its_request() -> None:
    @spanhook.tool
    async def look_up() -> None:
        pass

    async def agent(_given: Any) -> None:
        await look_up()

    shared, agents = Shared(), {"a": Agent("a", agent)}
    with recorder(only=()) as seen:
        async with shared.runner(agents) as server, shared.runner(agents) as worker:
            with seen.tracer_provider.get_tracer("test").start_as_current_span("POST"):
                await server.submit(new_job("a", None))
            await worker.take(shared.line.take())
        (request,) = seen.tree()
        (job,) = request["children"]
        (invoked,) = job["children"]
        (tool,) = invoked["children"]
    assert [one["name"] for one in (request, job, invoked, tool)] == [
        *("POST", "job a", "invoke_agent a", "execute_tool look_up")
    ]


async def test_what_is_delivered_twice_is_done_once() -> None:
    begun = list[int]()

    async def agent(given: int) -> None:
        begun.append(given)
        await asyncio.sleep(0.05)

    shared, agents = Shared(), {"a": Agent("a", agent)}
    async with shared.runner(agents) as server, shared.runner(agents) as one, shared.runner(agents) as other:
        job = await server.submit(new_job("a", 1))
        assert await asyncio.gather(*(worker.take(job.job_id) for worker in (one, other, one, other))) == [True] * 4
        assert await one.take(job.job_id)
        assert await one.take("job_none")
        events = [event async for event in server.events(job.job_id)]
    assert begun == [1]
    assert [event.id for event in events] == [1, 2, 3, 4]
    assert [event.data["status"] for event in events] == ["queued", "running", "completed", "completed"]


async def test_a_job_of_an_agent_that_a_worker_has_not_is_left_to_others() -> None:
    shared = Shared()
    async with shared.runner(AGENTS) as server, shared.runner({}) as worker:
        job = await server.submit(new_job("answering", 1))
        assert await worker.take(shared.line.take())
        assert (await shared.job(job)).status == "queued"


@pytest.mark.slow
async def test_a_worker_waits_for_a_store_that_is_away() -> None:
    class Away(MemoryJobs):
        failing = 0

        async def get(self, job_id: str, tenant_id: str | None = "") -> Job | None:
            if self.failing:
                self.failing -= 1
                raise StoreError("the database cannot be used now")
            return await super().get(job_id, tenant_id)

    store = Away()
    shared = Shared(store)
    async with shared.runner(AGENTS) as server, shared.runner(AGENTS) as worker:
        job = await server.submit(new_job("answering", 1))
        store.failing = 1
        assert await worker.take(shared.line.take())
        assert (await shared.job(job)).status == "completed"


@pytest.mark.slow
async def test_a_job_that_is_lost_is_enqueued_again_once_its_claim_has_run_out() -> None:
    shared = Shared()
    async with shared.runner(AGENTS, lease_s=0.1) as server:
        job = await server.submit(new_job("answering", 1))
        shared.line.waiting.clear()
        await until(lambda: shared.line.waiting)
        assert list(shared.line.waiting) == [f"{job.job_id}.0"]
        shared.line.away = True
        shared.line.waiting.clear()
        shared.line.away = False
        await until(lambda: shared.line.waiting)
        assert shared.line.put_times < 20  # not at every beat


async def test_a_queue_that_fails_after_the_job_was_kept_loses_nothing() -> None:
    class Failing(Line):
        async def put(self, job: Job) -> None:
            self.away = self.put_times == 0
            self.put_times += 1
            self._check()
            await super().put(job)

    shared = Shared()
    shared.line = Failing()
    async with shared.runner(AGENTS, lease_s=0.1) as server:
        job = await server.submit(new_job("answering", 1))
        assert job.status == "queued"
        await until(lambda: shared.line.waiting)


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "status", "error"), [("waiting", "failed", "ProcessEnded"), ("again", "queued", "")])
async def test_what_a_dead_worker_has_left_is_recorded_and_runs_again_only_if_it_may(
    agent: str, status: str, error: str
) -> None:
    shared = Shared()
    async with shared.runner(AGENTS, lease_s=0.3) as server:
        job = await server.submit(new_job(agent, None))
        dead = QueuedRunner(AGENTS, shared.store, shared.log, RunnerSettings(lease_s=0.05), shared.line)
        await dead.start()
        assert dead._beat is not None
        dead._beat.cancel()  # it never renews its claim
        dying = asyncio.create_task(dead.take(shared.line.take()))
        await until(lambda: shared.store._jobs[job.job_id].attempts)
        await until(lambda: shared.store._jobs[job.job_id].status != "running")
        left = await shared.job(job)
        assert (left.status, left.error_type, left.attempts) == (status, error, 1)
        assert list(shared.line.waiting) == ([f"{job.job_id}.1"] if status == "queued" else [])
        dying.cancel()
        await dead.close()
        assert (await shared.job(job)).status == status  # what it does afterwards changes nothing


async def test_a_worker_that_ends_keeps_its_claims_until_its_jobs_have_ended() -> None:
    goes_on = asyncio.Event()

    async def agent(_given: Any) -> str:
        await goes_on.wait()
        return "done"

    shared, agents = Shared(), {"a": Agent("a", agent)}
    async with shared.runner(agents) as server, shared.runner(agents, drain_s=30) as worker:
        job = await server.submit(new_job("a", None))
        taking = asyncio.create_task(worker.take(shared.line.take()))
        await until(lambda: shared.store._jobs[job.job_id].status == "running")
        closing = asyncio.create_task(worker.close())
        await asyncio.sleep(0)
        ends_ns = shared.store._jobs[job.job_id].lease_ns
        await until(lambda: shared.store._jobs[job.job_id].lease_ns > ends_ns)
        goes_on.set()
        await closing
        assert await taking
        done = await shared.job(job)
        assert (done.status, done.result) == ("completed", "done")
        later = await server.submit(new_job("a", 0))
        assert not await worker.take(later.job_id)
        assert (await shared.job(later)).status == "queued"


async def test_what_a_cancelled_job_does_to_end_is_not_cancelled_again() -> None:
    ended = list[str]()

    async def agent(_given: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.2)
            ended.append("cleaned up")

    shared, agents = Shared(), {"a": Agent("a", agent, "safe")}
    async with shared.runner(agents) as server, shared.runner(agents, drain_s=30) as worker:
        job = await server.submit(new_job("a", None))
        taking = asyncio.create_task(worker.take(shared.line.take()))
        await until(lambda: shared.store._jobs[job.job_id].status == "running")
        await server.cancel(job.job_id)
        assert await taking
        assert ended == ["cleaned up"]
        assert (await shared.job(job)).status == "cancelled"
        assert not shared.line.waiting
