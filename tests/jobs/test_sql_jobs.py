import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from spanhook.jobs import Agent, JobEvent, Runner, RunnerSettings, new_job
from tests.jobs.stores import check_store

if TYPE_CHECKING:
    from spanhook.store.control import Database

pytestmark = pytest.mark.anyio
pytest.importorskip("sqlalchemy", reason="the extra server is not in every environment")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_it_keeps_the_promises_of_a_store(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    await check_store(SQLJobs(database))


async def test_the_last_events_are_kept(database: "Database") -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    log = SQLJobs(database, most=3)
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
