"""Whenever a job is cancelled, it has one end, and everybody is told the same."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanhook
from spanhook.jobs import FINAL, Agent, FileJobs, JobStore, MemoryJobs, Runner, RunnerSettings, TransitionError, new_job
from spanhook.testing import recorder

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@spanhook.tool
async def step(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def working(given: Any) -> AsyncIterator[str]:
    for number in range(given):
        yield str(await step(number))


async def cancelled_after(store: JobStore, steps: int, turns: int, *, again: bool) -> None:
    runner = Runner({"working": Agent("working", working)}, store, None, RunnerSettings(concurrency=2, beat_s=0.01))
    await runner.start()
    try:
        jobs = [await runner.submit(new_job("working", steps)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        ends: list[str] = []
        for job in jobs:
            for _ in range(2 if again else 1):
                with contextlib.suppress(TransitionError):
                    assert await runner.cancel(job.job_id)
                    ends.append(job.job_id)
        assert len(ends) == len(set(ends))
        for job in jobs:
            events = [event async for event in runner.events(job.job_id)]
            kept = await store.get(job.job_id)
            assert kept is not None
            assert (kept.status == "cancelled") == (job.job_id in ends)
            finals = [one.data["status"] for one in events if one.data.get("status") in FINAL and one.type == "status"]
            assert finals == [kept.status]
            assert (events[-1].type, events[-1].data["status"]) == ("done", kept.status)
            assert [one.id for one in events] == list(range(1, len(events) + 1))
            assert kept.result == ("".join(map(str, range(steps))) or [] if kept.status == "completed" else None)
    finally:
        await runner.close()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5), st.integers(0, 120), st.booleans())
def test_a_job_in_memory_has_one_end(steps: int, turns: int, again: bool) -> None:
    asyncio.run(cancelled_after(MemoryJobs(), steps, turns, again=again))


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 40, 150])
async def test_a_job_in_a_file_has_one_end(tmp_path: Path, turns: int) -> None:
    await cancelled_after(FileJobs(tmp_path), 3, turns, again=True)


async def test_the_call_that_runs_is_cancelled_and_what_it_used_is_kept() -> None:
    calls = asyncio.Event()

    async def asking(_given: Any) -> None:
        async with spanhook.operation("llm.call", "m1", provider="acme", request={"messages": []}) as op:
            op.record_usage(input_tokens=11, output_tokens=3)
        async with spanhook.operation("llm.call", "m2", provider="acme", request={"messages": []}):
            calls.set()
            await asyncio.sleep(3600)

    with recorder() as recorded:
        runner = Runner({"asking": Agent("asking", asking)}, MemoryJobs())
        await runner.start()
        try:
            job = await runner.submit(new_job("asking", None))
            await calls.wait()
            await runner.cancel(job.job_id)
            told = [event async for event in runner.events(job.job_id)][-1]
        finally:
            await runner.close()
        ended = {span.name: span.attributes for span in recorded.spans}
    kept = await runner.store.get(job.job_id)
    assert kept is not None
    assert (kept.status, kept.usage["input_tokens"]) == ("cancelled", 11)
    assert told.data["usage"]["input_tokens"] == 11
    by_model = {one.get("gen_ai.request.model"): one["spanhook.status"] for one in ended.values() if one}
    assert (by_model["m1"], by_model["m2"], by_model[None]) == ("success", "cancelled", "cancelled")
