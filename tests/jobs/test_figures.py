"""What is measured of jobs."""

import asyncio
from typing import Any

import pytest

from spanhook import Hooks, Reject
from spanhook.jobs import Agent, MemoryJobs, Runner, RunnerSettings, new_job
from spanhook.testing import Recorder, recorder

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def answering(given: Any) -> Any:
    return given


async def failing(_given: Any) -> str:
    raise ValueError("no such thing")


async def waiting(_given: Any) -> None:
    await asyncio.sleep(3600)


AGENTS = {"answering": Agent("answering", answering), "failing": Agent("failing", failing)}


def counted(seen: Recorder, name: str, *labels: str) -> dict[tuple[Any, ...], int]:
    """How many values a histogram has, by labels."""
    return {tuple(told.get(one) for one in labels): count for told, (_, count) in seen.metrics().get(name, [])}


async def ended(runner: Runner) -> None:
    async with asyncio.timeout(30):
        while runner.running or runner.waiting:  # noqa: ASYNC110 - another task's doing
            await asyncio.sleep(0.01)


async def test_each_job_is_counted_where_it_ends_with_its_agent_status_and_error() -> None:
    labels = "gen_ai.agent.name", "spanhook.job.status", "error.type"
    with recorder() as seen:
        runner = Runner({**AGENTS, "waiting": Agent("waiting", waiting)}, MemoryJobs(), settings=RunnerSettings(2))
        await runner.start()
        for name in ("answering", "answering", "failing"):
            await runner.submit(new_job(name, "hello"))
        await ended(runner)
        left = [(await runner.submit(new_job("waiting", "hello"))).job_id for _ in range(3)]
        async with asyncio.timeout(30):
            while runner.running < 2:  # noqa: ASYNC110 - another task's doing
                await asyncio.sleep(0.01)
        for job_id in reversed(left):
            await runner.cancel(job_id, None)
        await ended(runner)
        await runner.close()
        assert counted(seen, "spanhook.job.duration", *labels) == {
            ("answering", "completed", None): 2,
            ("failing", "failed", "ValueError"): 1,
            ("waiting", "cancelled", None): 3,
        }
        assert counted(seen, "spanhook.job.wait", labels[0]) == {("answering",): 2, ("failing",): 1, ("waiting",): 2}


async def test_a_refused_request_makes_no_job_and_is_not_counted() -> None:
    hooks = Hooks()

    @hooks.before("job")
    def refuse(_op: Any) -> None:
        raise Reject("closed")

    with recorder(hooks) as seen:
        runner = Runner(AGENTS, MemoryJobs())
        await runner.start()
        with pytest.raises(Reject):
            await runner.submit(new_job("answering", "hello"))
        await runner.close()
        assert counted(seen, "spanhook.job.duration") == counted(seen, "spanhook.job.wait") == {}
