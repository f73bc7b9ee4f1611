"""Many jobs at a time, each with readers that drop and come back: each of them sees every event once, in order."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from spanhook.jobs import Agent, MemoryJobs, Runner, RunnerSettings, new_job

pytestmark = pytest.mark.anyio
MANY = pytest.param(200, 5, marks=pytest.mark.slow)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def talking(given: Any) -> AsyncIterator[str]:
    for number in range(given):
        yield f"{number} "
        if number % 7 == 0:
            await asyncio.sleep(0.001)


async def follow(runner: Runner, job_id: str, dice: random.Random) -> list[tuple[int, str, Any]]:
    """Read until the end, going away after some events and coming back with the number of the last one."""
    seen: list[tuple[int, str, Any]] = []
    while not seen or seen[-1][1] != "done":
        stays = dice.randint(1, 30)
        async with contextlib.aclosing(runner.events(job_id, seen[-1][0] if seen else 0)) as events:
            async for event in events:
                seen.append((event.id, event.type, event.data.get("text")))
                if (stays := stays - 1) == 0:
                    break
        await asyncio.sleep(dice.random() * 0.02)
    return seen


async def check(runner: Runner, jobs: int, readers: int) -> None:
    dice = random.Random(jobs)
    await runner.start()
    try:
        made = [await runner.submit(new_job("talking", dice.randint(0, 80))) for _ in range(jobs)]
        seen = await asyncio.gather(
            *(follow(runner, job.job_id, random.Random(f"{job.job_id}{n}")) for job in made for n in range(readers))
        )
    finally:
        await runner.close()
    for place, events in enumerate(seen):
        job = made[place // readers]
        assert [one[0] for one in events] == list(range(1, len(events) + 1))
        texts = [text for _, kind, text in events if kind == "text:delta"]
        assert texts == [f"{number} " for number in range(job.input)]
        assert [one[1] for one in events].count("done") == 1


@pytest.mark.parametrize(("jobs", "readers"), [(20, 3), MANY])
async def test_readers_of_jobs_in_memory(jobs: int, readers: int) -> None:
    await check(Runner({"talking": Agent("talking", talking)}, MemoryJobs(), None, RunnerSettings()), jobs, readers)
