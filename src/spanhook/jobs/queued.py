"""Jobs that a queue passes on to workers, on any machine.

The store says what is to be done, and who does it. The queue only tells a worker that there is something: what it loses
is enqueued again, and what it delivers twice is done once.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Protocol

from spanhook.diagnostics import Repeats, log
from spanhook.errors import StoreError
from spanhook.jobs.agents import Agent
from spanhook.jobs.events import STATUS
from spanhook.jobs.job import Job, TransitionError
from spanhook.jobs.runner import Runner
from spanhook.jobs.running import FullError, QueueError, RunnerSettings
from spanhook.jobs.store import EventLog, JobStore

MOST_QUEUED = 10_000
"""How many jobs may wait in a queue."""
_AGAIN_S = 1.0
_repeats = Repeats()


class Queue(Protocol):
    """Passes jobs on. Each method raises ``QueueError`` if the queue cannot be used now."""

    async def ready(self) -> int:
        """How many jobs wait."""
        ...

    async def put(self, job: Job) -> None:
        """Enqueue a job, unless it waits there already."""
        ...


class QueuedRunner(Runner):
    """Enqueues jobs, as the server does, or runs those that a queue has delivered, as a worker does.

    Args:
        agents: The agents, by name.
        store: Keeps the jobs; all servers and workers of a queue have the same.
        log: Keeps their events; the same for all, too.
        settings: How jobs are run. One that waits is enqueued again each time that its claim has run out.
        queue: The queue.
    """

    def __init__(
        self,
        agents: Mapping[str, Agent],
        store: JobStore,
        log: EventLog,
        settings: RunnerSettings,
        queue: Queue,
    ) -> None:
        super().__init__(agents, store, log, settings)
        self._queue = queue
        self._taking = set[asyncio.Task[bool]]()

    async def close(self) -> None:
        """Take no more jobs, give those that run some time to end, and record how the others were left."""
        if self._closing:
            return
        await super().close()
        if self._taking:
            await asyncio.wait(self._taking)

    # ------------------------------------------------------------------------------------------ a server's

    async def _check_room(self) -> None:
        if self._closing or await self._queue.ready() >= MOST_QUEUED:
            raise FullError("too many jobs wait; ask again later")

    async def _hand_over(self, job: Job) -> None:
        try:
            await self._queue.put(job)
        except QueueError as error:
            tell(error)  # the store has the job, which is enqueued once its claim has run out

    async def _take_over(self) -> None:
        """Enqueue again what the queue has lost, and what dead workers have left if it may run again."""
        for job in await self.store.expired(time.time_ns()):
            try:
                if job.status == "queued":
                    await self._queue.put(job)
                    await self.store.renew([job.job_id], job.worker, self._lease())
                elif job.job_id not in self._tasks:
                    await self._taken(job)
            except TransitionError:
                continue  # another process was sooner
            except QueueError as error:
                tell(error)
                return

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
        async with self._slots:
            started = None
            while not self._closing:
                try:
                    started = await self._claimed(job_id)
                    break
                except StoreError as error:  # without the store there is nothing that could be done instead
                    tell(error)
                    await asyncio.sleep(_AGAIN_S)
            else:
                return False
            if started is not None:
                await asyncio.wait([self._begin(started)])
        return True

    async def _claimed(self, job_id: str) -> Job | None:
        job = await self.store.get(job_id, None)
        if job is None or job.status != "queued" or job.agent not in self._agents:
            return None
        try:
            return await self._move(job, "running", worker=self._worker, lease_ns=self._lease())
        except TransitionError:
            return None

    async def _run(self, job: Job) -> None:
        """Run a job that is claimed. Only who has claimed it writes its events."""
        journal = await self._journals.open(job.job_id)
        try:
            if job.attempts == 1:
                journal.publish(STATUS, {"status": "queued"})
            await self._execute(job, journal)
        finally:
            await asyncio.shield(self._end(job.job_id))


def tell(error: StoreError) -> None:
    """Log that a store or a queue cannot be used, at most once a minute."""
    if _repeats.due(str(error)) is not None:
        log.warning("spanhook: %s", error)
