"""What becomes of jobs whose process is told to end, or is late."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

import spanhook
from spanhook import Hooks, Operation
from spanhook.diagnostics import internal
from spanhook.engine import registry
from spanhook.jobs import (
    Agent,
    Job,
    MemoryJobs,
    QueuedRunner,
    Runner,
    RunnerSettings,
    Transition,
    TransitionError,
    moved,
    new_job,
)
from spanhook.jobs.running import used_in_all
from tests.jobs.test_queued import Shared, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Slow(MemoryJobs):
    """A store in which a job has begun before whoever begins it hears of it.

    Attributes:
        begun: Set when one has.
        heard: Set by the test.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.heard = asyncio.Event(), asyncio.Event()

    async def move(self, job_id: str, change: Transition) -> Job | None:
        after = await super().move(job_id, change)
        if change.to == "running":
            self.begun.set()
            await self.heard.wait()
        return after


class Agents:
    """One agent, which notes how often it was called.

    Attributes:
        called: How often.
    """

    def __init__(self) -> None:
        self.called = 0

    async def __call__(self, _given: Any) -> None:
        self.called += 1
        await asyncio.sleep(3600)


@asynccontextmanager
async def ending(runner: Runner) -> AsyncGenerator[Runner]:
    await runner.start()
    try:
        yield runner
    finally:
        async with asyncio.timeout(30):
            await runner.close()


async def test_a_worker_that_is_told_to_end_while_it_begins_a_job_gives_it_back() -> None:
    store, agent = Slow(), Agents()
    shared, agents = Shared(store), {"a": Agent("a", agent)}
    async with shared.runner(agents) as server:
        job = await server.submit(new_job("a", None))
        worker = QueuedRunner(agents, store, shared.log, RunnerSettings(drain_s=0), shared.line)
        async with ending(worker):
            taking = asyncio.create_task(worker.take(job.job_id))
            await store.begun.wait()
            closing = asyncio.create_task(worker.close())
            await asyncio.sleep(0.1)
            store.heard.set()
            async with asyncio.timeout(30):
                await closing
            assert not await taking
        left = await shared.job(job)
        assert (left.status, left.lease_ns, agent.called) == ("queued", 0, 0)


async def test_a_server_that_is_told_to_end_while_it_begins_a_job_gives_it_back() -> None:
    store, agent = Slow(), Agents()
    async with ending(Runner({"a": Agent("a", agent)}, store, None, RunnerSettings(drain_s=0))) as server:
        job = await server.submit(new_job("a", None))
        await store.begun.wait()
        closing = asyncio.create_task(server.close())
        await asyncio.sleep(0.1)
        store.heard.set()
        await closing
        left = store._jobs[job.job_id]
        assert (left.status, left.lease_ns, agent.called) == ("queued", 0, 0)


@pytest.mark.slow
async def test_an_attempt_that_has_lost_its_claim_ends_before_its_worker_begins_the_next() -> None:
    goes_on, results = asyncio.Event(), iter(("late", "in time"))

    async def agent(_given: Any) -> str:
        result = next(results)
        await goes_on.wait()
        return result

    shared, agents = Shared(), {"a": Agent("a", agent, "safe")}
    async with shared.runner(agents) as server:
        how = RunnerSettings(lease_s=0.05)
        worker = QueuedRunner(agents, shared.store, shared.log, how, shared.line)
        async with ending(worker):
            assert worker._beat is not None
            worker._beat.cancel()  # as if its event loop were blocked
            job = await server.submit(new_job("a", None))
            first = asyncio.create_task(worker.take(shared.line.take()))
            await until(lambda: f"{job.job_id}.1" in shared.line.waiting)
            second = asyncio.create_task(worker.take(shared.line.take()))
            await asyncio.sleep(0.05)
            assert (await shared.job(job)).status == "queued"
            goes_on.set()
            assert await asyncio.gather(first, second) == [True, True]
        done = await shared.job(job)
        assert (done.status, done.result, done.attempts) == ("completed", "in time", 2)


def test_what_an_attempt_says_after_the_next_has_begun_is_refused() -> None:
    first = moved(new_job("a", None, worker="w"), Transition("running", 1, "w"))
    second = moved(moved(first, Transition("queued", 2, "w")), Transition("running", 3, "w"))
    with pytest.raises(TransitionError, match="begun again"):
        moved(second, Transition("failed", 4, "w", "w", attempts=first.attempts))
    assert moved(second, Transition("failed", 4, "w", "w", attempts=second.attempts)).status == "failed"


async def test_an_agent_that_goes_on_although_it_is_cancelled_does_not_stop_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spanhook.jobs.working._STOPS_S", (0.05, 0.05))
    swallowed = list[int]()

    async def agent(_given: Any) -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            swallowed.append(1)
        await asyncio.sleep(3600)

    store = MemoryJobs()
    async with ending(Runner({"a": Agent("a", agent)}, store, None, RunnerSettings(drain_s=0))) as runner:
        job = await runner.submit(new_job("a", None))
        await until(lambda: runner.running)
        await runner.close()
        assert (swallowed, store._jobs[job.job_id].status) == ([1], "failed")


@pytest.mark.one_value
@pytest.mark.parametrize("call", ["append", "renew"])
async def test_a_store_that_does_not_answer_does_not_stop_the_end(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    for name in ("working._STOPS_S", "runner._LAST_S", "keeping._LAST_WRITES_S"):
        monkeypatch.setattr(f"spanhook.jobs.{name}", (0.05, 0.05) if name == "working._STOPS_S" else 0.05)
    hung, answers = asyncio.Event(), asyncio.Event()

    async def hanging(*_given: Any) -> Any:
        hung.set()
        await answers.wait()
        return frozenset()

    shared, agents = Shared(), {"a": Agent("a", Agents())}
    monkeypatch.setattr(shared.log if call == "append" else shared.store, call, hanging)
    try:
        async with ending(Runner(agents, shared.store, shared.log, RunnerSettings(drain_s=0))) as runner:
            job = await runner.submit(new_job("a", None))
            await until(lambda: runner.running and hung.is_set())
        assert shared.store._jobs[job.job_id].status == "failed"
        reported = {"jobs.stop": 1, "jobs.events": 1} if call == "append" else {}
        assert (dict(internal.counts), internal.lost["jobs.events"]) == (reported, 4 if call == "append" else 0)
    finally:
        answers.set()
        internal.counts.clear()
        internal.lost.clear()


async def test_where_a_job_waits_that_does_not_end_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(internal, "fatal", False)
    monkeypatch.setattr(internal, "_seen", set[str]())
    monkeypatch.setattr("spanhook.jobs.working._STOPS_S", (0.05, 0.05))
    enough = asyncio.Event()

    async def agent(secret: str) -> None:
        while not enough.is_set():
            with suppress(asyncio.CancelledError):
                await enough.wait()

    async with ending(Runner({"a": Agent("a", agent)}, MemoryJobs(), None, RunnerSettings(drain_s=0))) as runner:
        job = await runner.submit(new_job("a", "hunter2"))
        await until(lambda: runner.running)
        await runner.close()
        enough.set()
    assert internal.counts.pop("jobs.stop") == 1
    line = agent.__code__.co_firstlineno + 3
    assert f"job {job.job_id} goes on although it is cancelled; it waits in\n" in caplog.text
    assert f"  {__file__}:{line} agent\n" in f"{caplog.text}\n"
    assert "hunter2" not in caplog.text


@pytest.mark.slow
async def test_hooks_are_told_once_of_a_job_that_ends_in_the_next_process_and_all_that_it_used_counts() -> None:
    hooks, told, attempts = Hooks(), list[str](), list[int]()

    @hooks.after("job")
    def after(_op: Operation) -> None:
        told.append("after")

    @hooks.on_error("job")
    def failed(_op: Operation) -> None:
        told.append("error")

    for event in ("job.post", "job.error"):
        hooks.on(event, lambda event: told.append(event.type))

    @spanhook.tool
    async def first() -> None: ...

    @spanhook.tool
    async def second() -> None: ...

    async def agent(_given: Any) -> str:
        attempts.append(1)
        async with spanhook.operation("llm.call", "m1", provider="acme", request={"messages": []}) as op:
            op.record_usage(input_tokens=7, output_tokens=5)
        await (first() if len(attempts) == 1 else second())
        if len(attempts) == 1:
            await asyncio.sleep(3600)
        return "done"

    store, agents = MemoryJobs(), {"a": Agent("a", agent, "safe")}
    registry.swap(None, hooks)
    try:
        async with ending(Runner(agents, store, None, RunnerSettings(drain_s=0))) as runner:
            job = await runner.submit(new_job("a", None))
            await until(lambda: attempts)
            await asyncio.sleep(0.05)
        hooks.flush(60.0)
        left = store._jobs[job.job_id]
        assert (told, left.status, left.usage["input_tokens"], left.tools) == ([], "queued", 7, ("first",))
        async with ending(Runner(agents, store)) as runner:
            last = [event async for event in runner.events(job.job_id)][-1]
        hooks.flush(60.0)
    finally:
        registry.swap(hooks, None)
    assert told == ["after", "job.post"]
    used = last.data["usage"]
    assert (last.data["status"], used["input_tokens"], used["total_tokens"]) == ("completed", 14, 24)
    assert last.data["tools"] == ["first", "second"]


def test_what_attempts_have_used_is_added_up() -> None:
    first = {"input_tokens": 3, "input_token_details": {"cache_read": 1}, "cost_usd": 0.1}
    second = {"input_tokens": 4, "input_token_details": {"cache_read": 2}, "cost_usd": 0.2}
    assert used_in_all({}, first) == first
    assert used_in_all(first, {**first, "cost_usd": None})["cost_usd"] == 0.1
    assert used_in_all(first, second) == {
        "input_tokens": 7,
        "input_token_details": {"cache_read": 3},
        "cost_usd": 0.3,
    }
