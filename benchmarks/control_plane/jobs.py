"""What background jobs cost: an agent with a scripted model, from the request for a job to its last event."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import spanhook
from spanhook.jobs import Agent, Runner, RunnerSettings, new_job
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.store.control import Database

AT_ONCE = 16
"""How many jobs run at a time; twice as many are asked for."""


@spanhook.tool
async def search(query: str) -> str:
    return query


async def _ask(text: str) -> str:
    async with spanhook.operation("llm.call", "scripted", provider="script", request={"messages": []}) as op:
        await asyncio.sleep(0)
        op.record_usage(input_tokens=100, output_tokens=20)
        return text


@spanhook.agent("scripted")
async def _answer(given: str) -> str:
    await search(await _ask(given))
    await search(await _ask(given))
    return await _ask(given)


async def scripted(given: Any) -> AsyncIterator[str]:
    """Three model calls, two tool calls, and an answer in twenty parts."""
    answer = await _answer(given)
    for _ in range(20):
        yield answer


async def follow(runner: Runner, turns: asyncio.Semaphore) -> None:
    """Ask for one job and read its events to the end, when there is room."""
    async with turns:
        job = await runner.submit(new_job("scripted", "What is new?"))
        ends = [event.data["status"] async for event in runner.events(job.job_id) if event.type == "done"]
        assert ends == ["completed"]


async def jobs(database: Database, count: int) -> dict[str, float]:
    """Run some jobs, each with one reader.

    Returns:
        Milliseconds of CPU for each, jobs per minute of CPU, and jobs per minute as it was.
    """
    store = SQLJobs(database)
    runner = Runner({"scripted": Agent("scripted", scripted)}, store, store, RunnerSettings(concurrency=AT_ONCE))
    await runner.start()
    turns = asyncio.Semaphore(2 * AT_ONCE)

    try:
        await asyncio.gather(*(follow(runner, turns) for _ in range(AT_ONCE)))  # warm
        wall, used = time.perf_counter(), time.process_time()
        await asyncio.gather(*(follow(runner, turns) for _ in range(count)))
        wall, used = time.perf_counter() - wall, time.process_time() - used
    finally:
        await runner.close()
    return {"ms_of_cpu": 1000 * used / count, "per_minute_of_cpu": 60 * count / used, "per_minute": 60 * count / wall}
