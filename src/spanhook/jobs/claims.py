"""Which jobs a process holds: renewing its claims, and finding those that nobody holds any more."""

import time
from collections.abc import Collection
from typing import Any

from spanhook.jobs.job import Job, JobStatus, Transition
from spanhook.jobs.running import RunnerSettings
from spanhook.jobs.store import SPARE_NS, JobStore

DEAD = "the process that ran it has ended"
_NS = 1_000_000_000


class Claims:
    """The claims of one worker.

    Args:
        store: Keeps the jobs.
        worker: The worker's name, which no other has.
        settings: For how long claims hold, and how often a job may begin.
    """

    def __init__(self, store: JobStore, worker: str, settings: RunnerSettings) -> None:
        self._store, self.worker, self._settings = store, worker, settings

    def until_ns(self) -> int:
        """Until when a claim that is made now holds."""
        return time.time_ns() + round(self._settings.lease_s * _NS)

    async def lost(self, job_ids: Collection[str]) -> frozenset[str]:
        """Renew claims; returns which of the jobs are no longer this worker's."""
        spare_ns = min(SPARE_NS, round(self._settings.lease_s * _NS / 5))
        held = await self._store.renew(job_ids, self.worker, self.until_ns(), spare_ns)
        return frozenset(job_ids) - held

    async def begin(self, job: Job) -> Job | None:
        """Begin to run a job that waits.

        Raises:
            TransitionError: It was cancelled, or is another's.
        """
        return await self._move(job, "running", lease_ns=self.until_ns())

    async def take(self, job: Job) -> Job | None:
        """Take over a job that nobody holds: as one that waits, or as one that has failed if it may not run again.

        Raises:
            TransitionError: It was cancelled, or another process was sooner.
        """
        if job.status == "running" and not self.may_repeat(job):
            why: dict[str, Any] = {"error": DEAD, "error_type": "ProcessEnded"}
            return await self._move(job, "failed", expired=True, **why)
        return await self._move(job, "queued", lease_ns=self.until_ns(), expired=True)

    async def give_back(self, job: Job, **changes: Any) -> Job | None:
        """Let any process take a job at once.

        Raises:
            TransitionError: It was cancelled, or is another's.
        """
        return await self._move(job, "queued", **changes)

    async def finish(self, job: Job, to: JobStatus, **changes: Any) -> Job | None:
        """Say how a job has ended.

        Raises:
            TransitionError: It was cancelled, or is another's.
        """
        return await self._move(job, to, **changes)

    def may_repeat(self, job: Job) -> bool:
        """Whether a job that has begun may begin again."""
        return job.retry == "safe" and job.attempts < self._settings.attempts

    async def _move(
        self, job: Job, to: JobStatus, *, lease_ns: int = 0, expired: bool = False, **changes: Any
    ) -> Job | None:
        change = Transition(to, time.time_ns(), self.worker, job.worker, lease_ns, changes, expired, job.attempts)
        return await self._store.move(job.job_id, change)
