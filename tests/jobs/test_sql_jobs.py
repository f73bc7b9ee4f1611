import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanhook.jobs import Agent, EventsTakenError, Job, JobEvent, Runner, RunnerSettings, Transition, new_job
from tests.jobs.stores import check_store
from tests.jobs.test_cancelling import cancelled_after
from tests.jobs.test_readers import MANY, check, talking

if TYPE_CHECKING:
    from spanhook.store.control import Database

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    await check_store(SQLJobs(database))


async def test_the_last_events_are_kept(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    log = SQLJobs(database, most=3)
    await log.create(replace(new_job("a", None), job_id="j"))
    events = [JobEvent(number, "status", {"n": number}, number) for number in range(1, 6)]
    assert await log.last("j") == 0
    await log.append("j", events[:2])
    await log.append("j", events[2:])
    assert await log.last("j") == 5
    assert await log.read("j", 0) == events[2:]
    assert await log.read("j", 4) == events[4:]
    assert await log.read("other", 0) == []


async def test_readers_go_on_in_the_next_process(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    answer = asyncio.Event()

    async def agent(_given: object) -> AsyncIterator[str]:
        yield "one "
        await answer.wait()
        yield "two"

    def runner() -> Runner:
        jobs = SQLJobs(database)
        settings = RunnerSettings(beat_s=0.05, drain_s=0)
        return Runner({"a": Agent("a", agent, "safe")}, jobs, jobs, settings)

    first = runner()
    await first.start()
    job = await first.submit(new_job("a", None))
    seen: list[JobEvent] = []
    async for event in first.events(job.job_id):
        seen.append(event)
        if event.type == "text:delta":
            break
    await first.close()
    answer.set()
    second = runner()
    await second.start()
    try:
        seen += [event async for event in second.events(job.job_id, seen[-1].id)]
    finally:
        await second.close()
    assert [event.id for event in seen] == list(range(1, len(seen) + 1))
    assert (seen[-1].type, seen[-1].data["output"]) == ("done", "one two")
    assert await SQLJobs(database).read(job.job_id, 0) == seen


async def test_finished_jobs_go_with_telemetry_that_is_too_old(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs
    from spanhook.store.control import Retention, RetentionLimits

    store, now = SQLJobs(database), time.time_ns()
    kept: dict[str, Job] = {}
    for name, ended_ns in (("old", now - 10**13), ("new", now - 10**9), ("live", 0)):
        kept[name] = await store.create(new_job("a", None, worker="w"))
        await store.append(kept[name].job_id, [JobEvent(1, "status", {}, 1)])
        if ended_ns:
            await store.move(kept[name].job_id, Transition("cancelled", ended_ns))
    figures = await Retention(database, RetentionLimits(age_s=5_000)).sweep()
    assert figures.deleted == {"spanhook_jobs": 1}
    left = {name for name, job in kept.items() if await store.get(job.job_id) is not None}
    assert left == {"new", "live"}
    assert [await store.last(kept[name].job_id) for name in ("old", "new", "live")] == [0, 1, 1]


async def test_events_are_written_once_and_by_one_process(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    log, event = SQLJobs(database), JobEvent(1, "status", {"n": 1}, 1)
    await log.create(replace(new_job("a", None), job_id="j"))
    await log.append("j", [event])
    await log.append("j", [event])  # the database's answer was lost
    with pytest.raises(EventsTakenError):
        await log.append("j", [JobEvent(1, "status", {"n": 2}, 2)])
    assert await log.read("j", 0) == [event]


async def test_a_job_that_another_process_took_over_is_followed_there(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    go = asyncio.Event()

    async def agent(_given: object) -> AsyncIterator[str]:
        yield "one "
        await go.wait()
        yield "two"

    def runner(lease_s: float) -> Runner:
        jobs = SQLJobs(database)
        settings = RunnerSettings(beat_s=0.05 if lease_s else 3600, lease_s=lease_s, drain_s=0)
        return Runner({"a": Agent("a", agent, "safe")}, jobs, jobs, settings)

    paused, other = runner(0), runner(15)
    await paused.start()
    job = await paused.submit(new_job("a", None))
    seen, began = list[JobEvent](), asyncio.Event()

    async def read() -> None:
        async for event in paused.events(job.job_id):
            seen.append(event)
            if event.type == "text:delta":
                began.set()

    reading = asyncio.create_task(read())
    await began.wait()
    await other.start()  # its claim does not hold any more, and it has not noticed
    try:
        follower = other.events(job.job_id)
        async for event in follower:
            if event.data.get("attempt") == 2:
                break
        await follower.aclose()
        go.set()
        last = [event async for event in other.events(job.job_id)][-1]
        assert last.data["status"] == "completed"
        await asyncio.wait_for(reading, 30)
        assert (seen[-1].type, seen[-1].data["status"]) == ("done", "completed")
        assert len([one for one in seen if one.type == "done"]) == 1
    finally:
        await other.close()
        await paused.close()
    kept = await SQLJobs(database).get(job.job_id)
    assert kept is not None
    assert kept.attempts == 2


async def test_nothing_is_kept_of_a_job_that_was_deleted(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    jobs = SQLJobs(database)
    job = await jobs.create(new_job("a", None))
    first, late = (JobEvent(number, "status", {}, number) for number in (1, 2))
    await jobs.append(job.job_id, [first])
    await jobs.move(job.job_id, Transition("cancelled", 1))
    assert await jobs.delete(job.job_id)
    await jobs.append(job.job_id, [late])
    assert await jobs.read(job.job_id, 0) == []


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 40, 150])
async def test_a_job_in_a_database_has_one_end(tmp_path: Path, turns: int) -> None:
    from spanhook.jobs.sql_jobs import SQLJobs
    from spanhook.store.control import Database

    database = await Database.open(f"sqlite:///{tmp_path / 'jobs.db'}")
    try:
        await cancelled_after(SQLJobs(database), 3, turns, again=True)
    finally:
        await database.close()


@pytest.mark.parametrize(("jobs", "readers"), [(20, 3), MANY])
async def test_readers_of_jobs_in_a_database(tmp_path: Path, jobs: int, readers: int) -> None:
    from spanhook.jobs.sql_jobs import SQLJobs
    from spanhook.store.control import Database

    database = await Database.open(f"sqlite:///{tmp_path / 'jobs.db'}")
    store = SQLJobs(database)
    try:
        settings = RunnerSettings(events=20, grace_s=0.05)  # so that readers need what is written
        await check(Runner({"talking": Agent("talking", talking)}, store, store, settings), jobs, readers)
    finally:
        await database.close()
