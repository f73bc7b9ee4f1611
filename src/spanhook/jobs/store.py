"""What a store of jobs does, whatever keeps them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from spanhook.errors import SpanhookError
from spanhook.jobs.events import JobEvent
from spanhook.jobs.job import Job, JobStatus, Transition

SPARE_NS: Final = 3_000_000_000
"""By how many nanoseconds a renewed claim may be shorter than was asked for, if it holds for long."""


class EventsTakenError(SpanhookError):
    """Another process writes the events of a job: it has taken it over."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are listed.

    Attributes:
        tenant_id: Whose. Empty for those that belong to nobody in particular, and to no tenant; ``None`` for all.
        status, agent: Empty for any.
        before: The ``(created_ns, job_id)`` of the job that the page begins after; ``None`` for the first page.
    """

    tenant_id: str | None = ""
    status: JobStatus | None = None
    agent: str = ""
    before: tuple[int, str] | None = None

    def admits(self, job: Job) -> bool:
        """Whether a job is one of them."""
        return (
            self.tenant_id in (None, job.tenant_id)
            and self.status in (None, job.status)
            and self.agent in ("", job.agent)
            and (self.before is None or (job.created_ns, job.job_id) < self.before)
        )


class JobStore(Protocol):
    """Keeps jobs. Every change is atomic, and made by ``moved`` alone, so that there are no others than legal ones.

    Each method raises ``StoreError`` if the store cannot be used now.
    """

    async def create(self, job: Job) -> Job:
        """Keep a new job; returns the first one instead if its tenant has asked this agent with the same key."""
        ...

    async def find(self, tenant_id: str, agent: str, key: str) -> Job | None:
        """The job of a tenant that was asked for with a key."""
        ...

    async def get(self, job_id: str, tenant_id: str | None = "") -> Job | None:
        """A job of a tenant, of nobody (empty), or anybody's (``None``); ``None`` if there is none."""
        ...

    async def list(self, which: JobFilter, limit: int = 50) -> Sequence[Job]:
        """Jobs, the newest first."""
        ...

    async def move(self, job_id: str, change: Transition) -> Job | None:
        """Change a job; returns it as it is then, ``None`` if there is none.

        Raises:
            TransitionError: It may not change so; nothing was changed.
        """
        ...

    async def note(self, seen: Job, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job | None:
        """Keep what a job has used so far.

        Args:
            seen: The job as its worker has begun it.
            usage, tools: What it has used, in all its attempts.

        Raises:
            TransitionError: It is another worker's, or has begun again since.
        """
        ...

    async def renew(
        self, job_ids: Collection[str], worker: str, until_ns: int, spare_ns: int = SPARE_NS
    ) -> frozenset[str]:
        """Renew a worker's claims; returns which jobs it still has. Others were cancelled, or are another's.

        Args:
            job_ids: The jobs.
            worker: Whose claims.
            until_ns: Until when they are to hold, in nanoseconds since the epoch.
            spare_ns: A claim that holds almost as long already, by so many nanoseconds, need not be written again.
        """
        ...

    async def expired(self, now_ns: int, limit: int = 100, agents: Collection[str] | None = None) -> Sequence[Job]:
        """Jobs that are not finished, and whose worker's claim no longer holds; the oldest first.

        Args:
            now_ns: The time, in nanoseconds since the epoch.
            limit: How many at most.
            agents: Whose jobs; ``None`` for all.
        """
        ...

    async def delete(self, job_id: str, tenant_id: str | None = "") -> bool:
        """Delete a finished job, and its events; returns whether there was one.

        Raises:
            TransitionError: It is not finished.
        """
        ...


class EventLog(Protocol):
    """Keeps the events of jobs beyond the process that runs them."""

    async def append(self, job_id: str, events: Sequence[JobEvent]) -> None:
        """Keep events that follow those that are kept. The same ones again are no mistake; those of a job that was
        deleted meanwhile need not be kept.

        Raises:
            EventsTakenError: Others have their ids.
        """
        ...

    async def read(self, job_id: str, after: int, limit: int = 500) -> Sequence[JobEvent]:
        """Events with higher ids, in order; older ones may be gone."""
        ...

    async def last(self, job_id: str) -> int:
        """The id of the last event; 0 if there is none."""
        ...
