"""Jobs and ticks of schedules whose ends are known."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from spanhook.jobs import Agent, MemoryJobs, Runner, RunnerSettings, new_job
from spanhook.schedules import CronEntry, Scheduler

COMPLETED, FAILED = 4, 2
TAKES_S = 0.4
TICKS = {"morning": "completed", "noon": "completed", "night": "failed"}


async def until(check: Callable[[], bool]) -> None:
    while not check():  # noqa: ASYNC110 - others' doing
        await asyncio.sleep(0.05)


async def answers(given: Any) -> Any:
    await asyncio.sleep(TAKES_S)
    return given


async def fails(_given: Any) -> Any:
    raise ConnectionError("the line is dead")


async def ticks(entry: CronEntry, *_: Any) -> str:
    if TICKS[entry.id] == "failed":
        raise ConnectionError("the line is dead")
    return entry.id


async def jobs() -> None:
    """One at a time, so that they wait; the last two are cancelled, one of them before it has begun."""
    begun = asyncio.Event()

    async def goes_on(_given: Any) -> Any:
        begun.set()
        await asyncio.sleep(3600)

    agents = {"teller": Agent("teller", answers), "caller": Agent("caller", fails), "clerk": Agent("clerk", goes_on)}
    runner = Runner(agents, MemoryJobs(), settings=RunnerSettings(concurrency=1))
    await runner.start()
    for name in ["teller"] * COMPLETED + ["caller"] * FAILED:
        await runner.submit(new_job(name, "hello"))
    left = [(await runner.submit(new_job("clerk", "hello"))).job_id for _ in range(2)]
    await begun.wait()
    for job_id in reversed(left):
        await runner.cancel(job_id, None)
    await until(lambda: not runner.running and not runner.waiting)
    await runner.close()


async def schedules() -> None:
    """Ticks once, by a clock that shows the last second of a minute now."""
    ahead = 59 - time.time() % 60
    entries = [CronEntry(id=one, schedule="* * * * *", agent="teller") for one in TICKS]
    ended = set[str]()

    async def work(entry: CronEntry, *rest: Any) -> str:
        ended.add(entry.id)
        return await ticks(entry, *rest)

    async with Scheduler(entries, work, clock=lambda: time.time() + ahead):
        await until(lambda: len(ended) == len(TICKS))


async def main() -> None:
    await asyncio.gather(jobs(), schedules())


if __name__ == "__main__":
    asyncio.run(main())
