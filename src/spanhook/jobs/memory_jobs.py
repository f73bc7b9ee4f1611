"""Jobs in memory: they end with the process."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from spanhook.jobs.job import FINAL, Job, Transition, TransitionError, moved, noted
from spanhook.jobs.store import JobFilter

MOST_FINISHED = 10_000
KEPT_S = 30 * 86_400.0
"""How many finished jobs are kept, and for how many seconds, where no database keeps them."""
_EVERY = 100


class MemoryJobs:
    """A store of jobs in memory, for one event loop. See ``JobStore``.

    Args:
        most: How many finished jobs are kept, about; the oldest go.
        kept_s: For how many seconds finished jobs are kept.
    """

    def __init__(self, *, most: int = MOST_FINISHED, kept_s: float = KEPT_S) -> None:
        self._jobs: dict[str, Job] = {}
        self._keys: dict[tuple[str, str, str], str] = {}
        self._most, self._kept_s, self._created = most, kept_s, 0

    async def create(self, job: Job) -> Job:
        if job.key:
            first = self._keys.setdefault((job.tenant_id, job.agent, job.key), job.job_id)
            if first != job.job_id:
                return self._jobs[first]
        self._jobs[job.job_id] = job
        self._created += 1
        if self._created % _EVERY == 0:
            for one in superfluous(self._jobs.values(), job.created_ns, self._most, self._kept_s):
                self._forget(one)
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

    async def note(self, seen: Job, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job | None:
        job = self._jobs.get(seen.job_id)
        if job is None:
            return None
        self._jobs[seen.job_id] = after = noted(job, seen, usage, tools)
        return after

    async def renew(
        self,
        job_ids: Collection[str],
        worker: str,
        until_ns: int,
        spare_ns: int = 0,  # noqa: ARG002 - renewing costs nothing here
    ) -> frozenset[str]:
        held = [job for one in job_ids if (job := self._jobs.get(one)) is not None and holds(job, worker)]
        for job in held:
            self._jobs[job.job_id] = replace(job, lease_ns=until_ns)
        return frozenset(job.job_id for job in held)

    async def expired(self, now_ns: int, limit: int = 100, agents: Collection[str] | None = None) -> Sequence[Job]:
        return oldest([job for job in self._jobs.values() if is_expired(job, now_ns, agents)], limit)

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        job = await self.get(job_id, tenant_id)
        if job is None:
            return False
        check_finished(job)
        self._forget(job)
        return True

    def _forget(self, job: Job) -> None:
        del self._jobs[job.job_id]
        if job.key:
            self._keys.pop((job.tenant_id, job.agent, job.key), None)


def holds(job: Job, worker: str) -> bool:
    """Whether a job is a worker's, and not finished."""
    return job.worker == worker and job.status not in FINAL


def is_expired(job: Job, now_ns: int, agents: Collection[str] | None) -> bool:
    """Whether nobody holds a job that is not finished, of one of these agents."""
    return job.status not in FINAL and job.lease_ns < now_ns and (agents is None or job.agent in agents)


def superfluous(jobs: Iterable[Job], now_ns: int, most: int, kept_s: float) -> Sequence[Job]:
    """Finished jobs that are too old or too many."""
    finished = sorted((job for job in jobs if job.finished), key=lambda job: job.ended_ns)
    old = now_ns - round(kept_s * 1e9)
    return [job for place, job in enumerate(finished) if place < len(finished) - most or job.ended_ns < old]


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
