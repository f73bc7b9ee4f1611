"""Jobs in memory: they end with the process."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spanhook.jobs.job import FINAL, Job, Transition, TransitionError, moved, noted
from spanhook.jobs.store import JobFilter


class MemoryJobs:
    """A store of jobs in memory, for one event loop. See ``JobStore``."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._keys: dict[tuple[str, str, str], str] = {}

    async def create(self, job: Job) -> Job:
        if job.key:
            first = self._keys.setdefault((job.tenant_id, job.agent, job.key), job.job_id)
            if first != job.job_id:
                return self._jobs[first]
        self._jobs[job.job_id] = job
        return job

    async def find(self, tenant_id: str, agent: str, key: str) -> Job | None:
        return self._jobs.get(self._keys.get((tenant_id, agent, key), ""))

    async def get(self, job_id: str, tenant_id: str | None = "") -> Job | None:
        job = self._jobs.get(job_id)
        return job if job is not None and tenant_id in (None, job.tenant_id) else None

    async def list(self, which: JobFilter, limit: int = 50) -> Sequence[Job]:
        return newest([job for job in self._jobs.values() if which.admits(job)], limit)

    async def move(self, job_id: str, change: Transition) -> Job | None:
        job = self._jobs.get(job_id)
        if job is None:
            return None
        self._jobs[job_id] = after = moved(job, change)
        return after

    async def note(self, job_id: str, worker: str, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job | None:
        job = self._jobs.get(job_id)
        if job is None:
            return None
        self._jobs[job_id] = after = noted(job, worker, usage, tools)
        return after

    async def renew(self, job_ids: Collection[str], worker: str, until_ns: int) -> frozenset[str]:
        held = [job for one in job_ids if (job := self._jobs.get(one)) is not None and holds(job, worker)]
        for job in held:
            self._jobs[job.job_id] = replace(job, lease_ns=until_ns)
        return frozenset(job.job_id for job in held)

    async def expired(self, now_ns: int, limit: int = 100) -> Sequence[Job]:
        return oldest([job for job in self._jobs.values() if is_expired(job, now_ns)], limit)

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        job = await self.get(job_id, tenant_id)
        if job is None:
            return False
        check_finished(job)
        del self._jobs[job_id]
        self._keys.pop((job.tenant_id, job.agent, job.key), None)
        return True


def holds(job: Job, worker: str) -> bool:
    """Whether a job is a worker's, and not finished."""
    return job.worker == worker and job.status not in FINAL


def is_expired(job: Job, now_ns: int) -> bool:
    """Whether nobody holds a job that is not finished."""
    return job.status not in FINAL and job.lease_ns < now_ns


def check_finished(job: Job) -> None:
    """Refuse to delete a job that is not finished.

    Raises:
        TransitionError: It is not.
    """
    if job.status not in FINAL:
        raise TransitionError(job, f"job {job.job_id} is {job.status}; cancel it before deleting it")


def newest(jobs: Sequence[Job], limit: int) -> Sequence[Job]:
    """The newest jobs first."""
    return sorted(jobs, key=lambda job: (job.created_ns, job.job_id), reverse=True)[:limit]


def oldest(jobs: Sequence[Job], limit: int) -> Sequence[Job]:
    """The oldest jobs first."""
    return sorted(jobs, key=lambda job: (job.created_ns, job.job_id))[:limit]
