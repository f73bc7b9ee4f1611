"""Jobs over real queues, with workers in processes of their own that end in every way."""

import asyncio
import re
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Generator
from contextlib import AsyncExitStack, closing, contextmanager
from typing import Any

import pytest

from spanhook.jobs import FullError, Job, JobFilter, QueuedRunner, QueueError, new_job
from spanhook.jobs.workers import JobQueue
from tests.jobs.workers.processes import Place, finished, serving, until, worker, worker_process
from tests.redis_server import RedisProcess
from tests.server.serving import served

pytestmark = pytest.mark.anyio


def work(name: str, seconds: float) -> dict[str, Any]:
    return {"name": name, "seconds": seconds}


def words(place: Place, name: str) -> list[str]:
    """What became of a piece of work, in order."""
    return [word for word, one, _ in place.ledger() if one == name]


def told_to_stop(process: subprocess.Popen[str], *, code: int = 0) -> str:
    """What a worker has printed that was told to stop."""
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == code, printed
    return printed


async def ended(process: subprocess.Popen[str]) -> str:
    """The same, while the event loop goes on: what ``serving`` has begun to write would keep the worker waiting."""
    return await asyncio.to_thread(told_to_stop, process)


async def submitted(runner: QueuedRunner, agent: str, *given: dict[str, Any]) -> list[Job]:
    return [await runner.submit(new_job(agent, one)) for one in given]


async def test_a_job_runs_in_a_worker_and_its_events_are_read_here(place: Place) -> None:
    async with serving(place) as runner, worker(place) as process:
        job = await runner.submit(new_job("telling", None))
        assert job.status == "queued"
        events = [event async for event in runner.events(job.job_id)]
        assert [event.id for event in events] == list(range(1, len(events) + 1))
        told = [(event.type, event.data.get("status") or event.data.get("text")) for event in events]
        assert told[:2] == [("status", "queued"), ("status", "running")]
        assert told[-2:] == [("status", "completed"), ("done", "completed")]
        assert {"text:delta", "tool:call", "tool:result"} <= {what for what, _ in told}
        (done,) = await finished(runner, [job])
        assert done.tools == ("traced",)
        assert await runner._queue.ready() == 0
        assert await ended(process) == ""


async def test_no_job_is_lost_with_a_worker_that_is_killed(place: Place) -> None:
    async with serving(place) as runner, AsyncExitStack() as stack:
        killed, other = [await stack.enter_async_context(worker(place, "--concurrency", "3")) for _ in range(2)]
        again = await submitted(runner, "working", *(work(f"again-{n}", 0.4) for n in range(12)))
        once = await submitted(runner, "once", *(work(f"once-{n}", 0.4) for n in range(6)))
        await until(lambda: sum(1 for word, _, pid in place.ledger() if (word, pid) == ("start", killed.pid)) > 1)
        killed.kill()
        assert {job.status for job in await finished(runner, again)} == {"completed"}
        of_once = await finished(runner, once)
        await ended(other)
    ends = Counter(name for word, name, _ in place.ledger() if word == "end")
    assert set(ends) >= {f"again-{n}" for n in range(12)}
    for job in await _of(place, again + once):
        starts = words(place, job.input["name"]).count("start")
        assert starts <= job.attempts  # each is recorded
        assert ends[job.input["name"]] <= job.attempts
    for job in of_once:
        assert job.attempts == 1
        assert words(place, job.input["name"]).count("start") <= 1
        assert (job.status, job.error_type) in {("completed", ""), ("failed", "ProcessEnded")}


async def _of(place: Place, jobs: list[Job]) -> list[Job]:
    async with serving(place) as runner:
        return await finished(runner, jobs)


async def test_a_cancel_reaches_the_worker_and_nothing_runs_again(place: Place) -> None:
    async with serving(place) as runner:
        async with worker(place) as process:
            (job,) = await submitted(runner, "working", work("long", 3600))
            await until(lambda: words(place, "long") == ["start"])
            cancelled = await runner.cancel(job.job_id)
            assert cancelled is not None
            assert cancelled.status == "cancelled"
            await until(lambda: words(place, "long") == ["start", "cancelled"])
            (waiting,) = await submitted(runner, "working", work("other", 0))
            await finished(runner, [waiting])
            await ended(process)
        async with worker(place) as process:
            (last,) = await submitted(runner, "working", work("last", 0))
            await finished(runner, [last])
            await ended(process)
        after = await runner.store.get(job.job_id)
        assert after is not None
        assert (after.status, after.attempts) == ("cancelled", 1)
    assert words(place, "long") == ["start", "cancelled"]


async def test_a_job_that_is_cancelled_in_the_queue_never_begins(place: Place) -> None:
    async with serving(place) as runner:
        first, second = await submitted(runner, "working", work("first", 0), work("second", 0))
        await runner.cancel(first.job_id)
        async with worker(place) as process:
            await finished(runner, [second])
            await ended(process)
        events = [event async for event in runner.events(first.job_id)]
        assert [(event.type, event.data["status"]) for event in events][-1] == ("done", "cancelled")
    assert words(place, "first") == []


async def test_a_worker_that_is_told_to_stop_ends_its_jobs_or_records_them(place: Place) -> None:
    async with serving(place) as runner:
        async with worker(place, "--drain", "2") as process:
            given = (work("short", 1), work("long", 3600))
            short, long = await submitted(runner, "working", *given)
            (once,) = await submitted(runner, "once", work("once", 3600))
            await until(lambda: len(place.ledger()) == 3)
            assert await ended(process) == ""
        assert [job.status for job in await finished(runner, [short])] == ["completed"]
        found = await runner.store.get(long.job_id)
        assert found is not None
        assert (found.status, found.attempts) == ("queued", 1)
        (failed,) = await finished(runner, [once])
        assert (failed.status, failed.error_type, failed.attempts) == ("failed", "Drained", 1)
        async with worker(place) as process:
            await until(lambda: words(place, "long") == ["start", "cancelled", "start"])
            await runner.cancel(long.job_id)
            await ended(process)
    assert words(place, "short") == ["start", "end"]
    assert words(place, "once") == ["start", "cancelled"]


async def test_what_does_not_heed_its_cancellation_does_not_keep_the_worker(place: Place) -> None:
    async with serving(place) as runner:
        async with worker(place, "--drain", "0") as process:
            (stubborn,) = await submitted(runner, "stubborn", work("stubborn", 0))
            (threaded,) = await submitted(runner, "threaded", work("threaded", 0))
            await until(lambda: len(place.ledger()) == 2)
            printed = await asyncio.to_thread(told_to_stop, process, code=1)
        ends = [(one.status, one.error_type) for one in await finished(runner, [stubborn, threaded])]
    assert ends == [("failed", "ProcessEnded"), ("failed", "Drained")]
    waits = f"job {stubborn.job_id} goes on although it is cancelled; it waits in\n"
    found = re.search(rf"jobs\.stop(.*\n)*.*{waits}(  .*\n)*  {place.folder}/agents\.py:\d+ stubborn\n", printed)
    assert found, printed
    assert "the process goes on 15 s after it was told to end" in printed


async def test_a_process_that_stands_still_in_the_database_does_not_keep_the_worker(place: Place) -> None:
    async with serving(place) as runner:
        async with worker(place, "--drain", "0") as process:
            (job,) = await submitted(runner, "working", work("long", 3600))
            await until(lambda: words(place, "long") == ["start"])
            with _writing(place, job):
                process.send_signal(signal.SIGTERM)
                await asyncio.to_thread(process.communicate, timeout=60)
        await until(lambda: words(place, "long") == ["start", "cancelled"])
        async with worker(place) as process:  # another one takes it
            await until(lambda: words(place, "long") == ["start", "cancelled", "start"])
            await runner.cancel(job.job_id)
            await ended(process)


@contextmanager
def _writing(place: Place, job: Job) -> Generator[None]:
    """A transaction that does not end, and holds what a worker needs to write of a job."""
    if place.database.startswith("sqlite"):
        with closing(sqlite3.connect(place.folder / "spanhook.db", timeout=60, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
        return
    import psycopg

    with psycopg.connect(place.database) as connection:
        connection.execute("SELECT * FROM spanhook_jobs WHERE job_id = %s FOR UPDATE", (job.job_id,))
        yield


async def test_what_the_queue_has_lost_is_enqueued_again(place: Place) -> None:
    async with serving(place) as runner:
        jobs = await submitted(runner, "working", *(work(f"{n}", 0) for n in range(5)))
        assert await runner._queue.ready() == 5
        await _empty(place)
        async with worker(place) as process:
            assert {job.status for job in await finished(runner, jobs)} == {"completed"}
            await ended(process)
    assert sorted(name for word, name, _ in place.ledger() if word == "start") == [f"{n}" for n in range(5)]


async def test_what_a_worker_had_just_got_when_it_died_is_delivered_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spanhook.jobs.workers._saq._HEARTBEAT_S", 1)
    async with serving(place) as runner:
        (job,) = await submitted(runner, "once", work("a", 0))
        dead = JobQueue(place.queue)
        taken = await (await dead.queue()).dequeue(timeout=30)
        assert taken is not None
        await dead.close()
        assert await runner._queue.ready() == 0
        async with worker(place) as process:
            assert [one.status for one in await finished(runner, [job])] == ["completed"]
            await ended(process)
    assert words(place, "a") == ["start", "end"]


async def test_jobs_that_wait_long_are_in_the_queue_once(place: Place) -> None:
    async with serving(place) as runner:
        jobs = await submitted(runner, "working", *(work(f"{n}", 0) for n in range(3)))
        leases = {job.lease_ns for job in jobs}
        while any(job.lease_ns in leases for job in await runner.store.list(JobFilter())):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # until they are enqueued again
        assert await runner._queue.ready() == 3


async def _empty(place: Place) -> None:
    if place.queue.startswith("redis"):
        from redis.asyncio import Redis

        client: Any = Redis.from_url(place.queue)
        await client.flushall()
        await client.aclose()
        return
    import psycopg

    async with await psycopg.AsyncConnection.connect(place.queue, autocommit=True) as connection:
        await connection.execute("DELETE FROM saq_jobs")


@pytest.mark.parametrize("place", ["redis"], indirect=True)
async def test_a_queue_that_is_away_makes_no_job(place: Place, redis: RedisProcess) -> None:
    async with serving(place) as runner:
        redis.stop()
        with pytest.raises(QueueError, match=r"the queue redis://127.0.0.1:\d+/0 cannot be used now"):
            await runner.submit(new_job("working", work("a", 0)))
        assert await runner.store.list(JobFilter()) == []
        redis.start()
        (job,) = await submitted(runner, "working", work("b", 0))
        with redis.hung(), pytest.raises(QueueError, match="no answer for 2 s"):
            await runner.submit(new_job("working", work("c", 0)))
        async with worker(place) as process:
            (running,) = await submitted(runner, "working", work("d", 3))
            await until(lambda: words(place, "d") == ["start"])
            await finished(runner, [job])  # what has just been taken would wait until Redis is back
            redis.stop()  # jobs that run go on
            done = await finished(runner, [job, running])
            assert [one.status for one in done] == ["completed", "completed"]
            redis.start()
            (later,) = await submitted(runner, "working", work("e", 0))
            await finished(runner, [later])
            await ended(process)
    assert sorted(name for word, name, _ in place.ledger() if word == "start") == ["b", "d", "e"]


async def test_a_full_queue_takes_no_more(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanhook.jobs.queued.MOST_QUEUED", 2)
    async with serving(place) as runner:
        await submitted(runner, "working", work("a", 0), work("b", 0))
        with pytest.raises(FullError):
            await runner.submit(new_job("working", work("c", 0)))


@pytest.mark.parametrize("place", ["redis"], indirect=True)
def test_over_http_it_is_one_trace_and_a_cancel_arrives_at_once(place: Place, redis: RedisProcess) -> None:
    place.settings()
    agents = {name: {"target": f"{place.folder / 'agents.py'}:{name}"} for name in ("telling", "working")}
    trace_id = f"{time.time_ns():032x}"
    with served(place.folder, database=place.database, queue=place.queue, agents=agents) as server:
        asked = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
        made = server.client.post("/v1/agents/telling?async=true", json={"input": 1}, headers=asked)
        assert (made.status_code, made.json()["status"]) == (202, "queued")
        with worker_process(place) as process:
            stream = server.client.get(f"/v1/jobs/{made.json()['job_id']}/stream").text
            assert stream.count("event: done") == 1
            done = server.client.get(f"/v1/jobs/{made.json()['job_id']}").json()
            assert (done["status"], done["result"]) == ("completed", f"hello {trace_id}")
            long = server.client.post("/v1/agents/working?async=true", json={"input": work("long", 3600)}).json()
            while not place.ledger():
                time.sleep(0.02)
            assert server.client.post(f"/v1/jobs/{long['job_id']}/cancel", json={}).json()["status"] == "cancelled"
            stream = server.client.get(f"/v1/jobs/{long['job_id']}/stream").text
            assert stream.count("event: done") == 1
            while words(place, "long") != ["start", "cancelled"]:
                time.sleep(0.02)
            assert told_to_stop(process) == ""
        redis.stop()
        refused = server.client.post("/v1/agents/telling?async=true", json={"input": 1})
        assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
        assert "the queue of jobs cannot be used now" in refused.json()["detail"]
        assert refused.headers["Retry-After"] == "1"
        assert len(server.client.get("/v1/jobs").json()["jobs"]) == 2
        answered = server.client.post("/v1/agents/telling", json={"input": 1})
        assert answered.status_code == 200  # who waits needs no queue
