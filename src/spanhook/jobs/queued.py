"""Jobs that a queue passes on to workers, on any machine.

The store says what is to be done, and who does it. The queue only tells a worker that there is something: what it loses
is enqueued again, and what it delivers twice is done once.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from spanhook.concurrency import ended
from spanhook.diagnostics import Repeats, log
from spanhook.errors import StoreError
from spanhook.jobs.agents import Agent
from spanhook.jobs.events import STATUS, Journal
from spanhook.jobs.job import Job, TransitionError
from spanhook.jobs.patience import uninterrupted
from spanhook.jobs.performing import decide
from spanhook.jobs.runner import Runner
from spanhook.jobs.running import FullError, QueueError, RunnerSettings
from spanhook.jobs.store import EventLog, JobStore
from spanhook.jobs.working import Work

MOST_QUEUED = 10_000
"""How many jobs may wait in a queue."""
_AGAIN_S, _LAST_S = 1.0, 3.0
_repeats = Repeats()


class Queue(Protocol):
    """Passes jobs on. Each method raises ``QueueError`` if the queue cannot be used now."""

    async def ready(self) -> int:
        """How many jobs wait."""
        ...

    async def put(self, job: Job) -> None:
        """Enqueue a job, unless it waits there already."""
        ...


class Delivered(Work):
    """Jobs that have begun before they come here: who has begun a job alone writes its events."""

    async def run(self, job: Job) -> None:
        """Run a job, and wait for its end."""
        self.begin(job)
        self._begun.add(job.job_id)
        await self.ended(job.job_id)

    async def ended(self, job_id: str) -> None:
        """Wait for the end of a job that runs here, if it does."""
        task = self._tasks.get(job_id)
        if task is not None:
            await ended(task)
            await asyncio.sleep(0)  # what follows its end comes first

    async def _run(self, job: Job) -> None:
        try:
            journal = await self._opened(job)
            journal.publish(STATUS, {"status": "queued"})
            await self._execute(job, journal)
        finally:
            await uninterrupted(self.end(job.job_id, job.worker))

    async def _opened(self, job: Job) -> Journal:
        try:
            return await uninterrupted(self._journals.open(job.job_id))
        except (asyncio.CancelledError, StoreError):
            await uninterrupted(self.give_back(job))
            raise


class QueuedRunner(Runner):
    """Enqueues jobs, as the server does, or runs those that a queue has delivered, as a worker does.

    Args:
        agents: The agents, by name.
        store: Keeps the jobs; all servers and workers of a queue have the same.
        log: Keeps their events; the same for all, too.
        settings: How jobs are run. One that waits is enqueued again each time that its claim has run out.
        queue: The queue.
        **others: As for ``Runner``.
    """

    WORK: ClassVar[type[Work]] = Delivered
    _work: Delivered

    def __init__(
        self,
        agents: Mapping[str, Agent],
        store: JobStore,
        log: EventLog,
        settings: RunnerSettings,
        queue: Queue,
        **others: Any,
    ) -> None:
        super().__init__(agents, store, log, settings, **others)
        self._queue, self._slots = queue, asyncio.Semaphore(settings.concurrency)
        self._taking = set[asyncio.Task[bool]]()

    async def close(self) -> None:
        """Take no more jobs, give those that run some time to end, and record how the others were left."""
        if self._closing:
            return
        await super().close()
        if self._taking:
            await asyncio.wait(self._taking, timeout=_LAST_S)
        for task in self._taking:  # its job could not be stopped, or the store does not answer
            task.cancel()

    # ------------------------------------------------------------------------------------------ a server's

    async def _accept(self, job: Job) -> Job:
        if self._closing or await self._queue.ready() >= MOST_QUEUED:
            raise FullError("too many jobs wait; ask again later")
        job = replace(job, retry=self.agent(job.agent).retry, worker=self._claims.worker)
        job = replace(job, admission=await decide(job))
        kept = await self.store.create(replace(job, lease_ns=self._claims.until_ns()))
        if kept.job_id == job.job_id:
            try:
                await self._queue.put(kept)
            except QueueError as error:
                tell(error)  # the store has the job, which is enqueued once its claim has run out
        return kept

    async def _take_over(self) -> None:
        """Enqueue again what the queue has lost, and what dead workers have left if it may run again."""
        for job in await self.store.expired(time.time_ns()):
            if job.job_id in self._work.jobs or self._closing:
                continue
            try:
                await self._taken(job)
            except TransitionError:
                continue  # another process was sooner
            except QueueError as error:
                tell(error)
                return

    async def _taken(self, job: Job) -> None:
        if job.status == "queued":
            await self._queue.put(job)  # first: so it is tried again soon if the queue is away
        taken = await self._claims.take(job)
        if taken is None:
            return
        if taken.finished:
            await self._work.end(taken.job_id, taken.worker)
        elif job.status == "running":
            await self._queue.put(taken)

    # ------------------------------------------------------------------------------------------ a worker's

    async def take(self, job_id: str) -> bool:
        """Run a job that the queue has delivered, and wait for its end; not if it is another's by now, or has ended.

        The job goes on if this is cancelled.

        Returns:
            Whether the queue is done with it; otherwise the worker is about to end, and the job is left to others.
        """
        task = asyncio.create_task(self._take(job_id))
        self._taking.add(task)
        task.add_done_callback(self._taking.discard)
        return await asyncio.shield(task)

    async def _take(self, job_id: str) -> bool:
        async with self._slots:  # a queue that has lost sight of a job delivers another
            while not self._closing:
                try:
                    begun = await self._claimed(job_id)
                except StoreError as error:  # without the store there is nothing that could be done instead
                    tell(error)
                    await asyncio.sleep(_AGAIN_S)
                    continue
                if begun is not None and self._closing:  # nobody would wait for it, or renew its claim
                    await self._work.give_back(begun)
                    return False
                if begun is not None:
                    await self._work.run(begun)
                return True
        return False

    async def _claimed(self, job_id: str) -> Job | None:
        job = await self.store.get(job_id, None)
        while job is not None and job.status == "queued" and job_id in self._work.jobs:
            await self._work.ended(job_id)  # an attempt whose claim has run out has yet to notice
            job = await self.store.get(job_id, None)
        if job is None or job.status != "queued" or job.agent not in self._agents:
            return None
        try:
            return await self._claims.begin(job)
        except TransitionError:
            return None


def tell(error: StoreError) -> None:
    """Log that a store or a queue cannot be used, at most once a minute."""
    if _repeats.due(str(error)) is not None:
        log.warning("spanhook: %s", error)
