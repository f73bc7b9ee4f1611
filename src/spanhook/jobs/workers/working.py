"""A worker: takes jobs from a queue until it is told to stop."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType
from typing import Any

from spanhook.jobs.agents import Agent
from spanhook.jobs.job import Job
from spanhook.jobs.queued import QueuedRunner, tell
from spanhook.jobs.running import QueueError, RunnerSettings
from spanhook.jobs.workers.queue import JobQueue
from spanhook.store.control import Database

_AGAIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What can be set of a worker.

    Attributes:
        queue: The queue's address.
        database: The address of the control plane's database.
        concurrency: How many jobs run at a time.
        lease_s: Seconds after which a job is taken over if its worker has died; at least 5.
        drain_s: Seconds that jobs have to end after SIGTERM.
    """

    queue: str
    database: str
    concurrency: int = 16
    lease_s: float = 30.0
    drain_s: float = 25.0


async def work(
    settings: WorkerSettings,
    agents: Mapping[str, Agent],
    started: Callable[[str, str], None],
    *,
    told: Callable[[Any, Job], None] | None = None,
    beside: Callable[[Database], AbstractAsyncContextManager[object]] | None = None,
    stopping: Callable[[], object] | None = None,
) -> None:
    """Run jobs until SIGTERM or SIGINT.

    Args:
        settings: What can be set.
        agents: The agents, by name.
        started: Called with the addresses of queue and database, once jobs are taken.
        told: As of ``SQLJobs``: told of each change of a job, in its transaction.
        beside: What runs as long as the worker does, with its database.
        stopping: Called by the handler of such a signal, at once even if something blocks the event loop.

    Raises:
        ConfigurationError: An address cannot be used.
        StoreError: The database cannot be used now.
    """
    with _told_to_stop(stopping) as stop:
        await _work(settings, agents, started, told, beside, stop)


async def _work(
    settings: WorkerSettings,
    agents: Mapping[str, Agent],
    started: Callable[[str, str], None],
    told: Callable[[Any, Job], None] | None,
    beside: Callable[[Database], AbstractAsyncContextManager[object]] | None,
    stop: asyncio.Event,
) -> None:
    from spanhook.jobs.sql_jobs import SQLJobs

    queue = JobQueue(settings.queue)
    database = await Database.open(settings.database)
    jobs = SQLJobs(database, told=told)
    how = RunnerSettings(concurrency=settings.concurrency, lease_s=settings.lease_s, drain_s=settings.drain_s)
    runner = QueuedRunner(agents, jobs, jobs, how, queue)
    try:
        async with nullcontext() if beside is None else beside(database):
            try:
                await runner.start()
                if await _connected(queue, stop):
                    started(queue.shown, database.shown)
                    await _taking(queue, runner, settings.concurrency, stop)
            finally:
                await runner.close()
    finally:
        await queue.close()
        await database.close()


@contextmanager
def _told_to_stop(stopping: Callable[[], object] | None) -> Generator[asyncio.Event]:
    """An event that is set when the process is told to end."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def heard(_number: int, _frame: FrameType | None) -> None:
        if stopping is not None:
            stopping()
        loop.call_soon_threadsafe(stop.set)

    before = {name: signal.signal(name, heard) for name in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


async def _connected(queue: JobQueue, stop: asyncio.Event) -> bool:
    """Wait for the queue, or for the end."""
    while not stop.is_set():
        try:
            await queue.ready()
            return True
        except QueueError as error:
            tell(error)
        await _either(stop.wait(), asyncio.sleep(_AGAIN_S))
    return False


async def _taking(queue: JobQueue, runner: QueuedRunner, concurrency: int, stop: asyncio.Event) -> None:
    from spanhook.jobs.workers._saq import Worker

    async def run(job_id: str) -> None:
        if not await runner.take(job_id):
            await queue.put_back(job_id)

    saq_queue = await queue.queue()
    worker = Worker(saq_queue, run, concurrency)
    taking = asyncio.create_task(worker.start())
    try:
        await _either(stop.wait(), asyncio.shield(taking))
        saq_queue.paused = True
        await runner.close()
    finally:
        worker.event.set()
        await taking


async def _either(*ways: Awaitable[Any]) -> None:
    """Wait for the first of several, and give the others up."""
    tasks = [asyncio.ensure_future(one) for one in ways]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
