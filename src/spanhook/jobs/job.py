"""A background run of an agent: its state, and which changes of state there are. Knows no store and no clock."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Self, get_args

from spanhook.errors import SpanhookError

JobStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
Retry = Literal["never", "safe"]

STATUSES: Final[tuple[JobStatus, ...]] = get_args(JobStatus)
FINAL: Final = frozenset[JobStatus](("completed", "failed", "cancelled"))
"""What a job stays in."""
LEGAL: Final[Mapping[JobStatus, frozenset[JobStatus]]] = {
    "queued": frozenset(("queued", "running", "failed", "cancelled")),
    "running": frozenset(("completed", "failed", "cancelled", "queued")),
    "completed": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
}
"""Where a job may go from each status. One that waits may wait under another claim; one that runs goes back to the
queue only if its process has died or ends, and it may run again."""


class TransitionError(SpanhookError):
    """A change of state that may not be.

    Attributes:
        job: The job as it is.
    """

    def __init__(self, job: "Job", message: str) -> None:
        super().__init__(message)
        self.job = job


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One background run of an agent. Everything in it is plain data.

    Attributes:
        job_id: ``job_`` and 32 hex digits.
        agent: The agent's name.
        input: What the agent is given.
        tenant_id: Whose it is; empty for nobody's in particular.
        user_id, session_id: Who asked for it, and in which conversation.
        status: Where it is.
        retry: Whether it may run again after the process that ran it has died.
        result: What the agent returned; ``None`` unless completed.
        error, error_type: Why it failed, and the name of the exception.
        status_code: The HTTP status of a refusal; 0 if it was not refused.
        usage: Tokens and cost so far, as ``Usage.as_metadata`` has them.
        tools: Names of the tools that it has used, each once.
        attempts: How often it began.
        worker: Who runs it, or accepted it; only that worker may finish it.
        lease_ns: Until when the worker's claim holds unless renewed.
        created_ns, started_ns, ended_ns: Nanoseconds since the epoch; 0 for not yet.
        key: The ``Idempotency-Key`` of its request; empty for none.
        digest: What that request asked for, as a hash.
        trace: The trace context of the request, as header fields (https://www.w3.org/TR/trace-context/).
        admission: What gates have decided before it existed, as text; empty for nothing.
    """

    job_id: str
    agent: str
    input: Any = None
    tenant_id: str = ""
    user_id: str = ""
    session_id: str = ""
    status: JobStatus = "queued"
    retry: Retry = "never"
    result: Any = None
    error: str = ""
    error_type: str = ""
    status_code: int = 0
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: tuple[str, ...] = ()
    attempts: int = 0
    worker: str = ""
    lease_ns: int = 0
    created_ns: int = 0
    started_ns: int = 0
    ended_ns: int = 0
    key: str = ""
    digest: str = ""
    trace: Mapping[str, str] = field(default_factory=dict[str, str])
    admission: str = ""

    @property
    def finished(self) -> bool:
        """Whether it stays as it is."""
        return self.status in FINAL

    def as_dict(self) -> dict[str, Any]:
        """The job for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**fields, "usage": dict(self.usage), "tools": list(self.tools), "trace": dict(self.trace)}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """The job that ``as_dict`` has written; unknown keys are left out.

        Raises:
            ValueError: It is no job.
        """
        known: dict[str, Any] = {name: fields[name] for name in cls.__dataclass_fields__ if name in fields}
        if not {"job_id", "agent"} <= known.keys() or known.get("status", "queued") not in STATUSES:
            raise ValueError("it is not a job")
        known["tools"] = tuple(known.get("tools") or ())
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of a job's status, and of what goes with it.

    Attributes:
        to: The status after it.
        at_ns: When, in nanoseconds since the epoch.
        worker: Who makes it: only the worker that runs a job may finish it, and whoever starts a job becomes its
            worker. Empty for somebody who may always, such as one who cancels.
        seen: The worker that the job was seen with; it is refused if there is another by now. ``None`` for any.
        lease_ns: Until when the claim of a started job holds.
        changes: Other fields of ``Job``.
        expired: Only if nobody holds the job any more; then anybody may change it.
        attempts: How often the job had begun when it was seen; it is refused if it has begun again since. ``None`` for
            any.
    """

    to: JobStatus
    at_ns: int
    worker: str = ""
    seen: str | None = None
    lease_ns: int = 0
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    expired: bool = False
    attempts: int | None = None


def new_id() -> str:
    """The id of a new job. It cannot be guessed."""
    return f"job_{secrets.token_hex(16)}"


def moved(job: Job, change: Transition) -> Job:
    """The job after a change.

    Raises:
        TransitionError: It may not change so.
    """
    if change.to not in LEGAL[job.status]:
        raise TransitionError(job, f"job {job.job_id} is {job.status}; it cannot become {change.to}")
    if change.to == job.status and not change.expired and change.worker != job.worker:
        raise TransitionError(job, f"job {job.job_id} waits for another worker")
    if change.seen is not None and change.seen != job.worker:
        raise TransitionError(job, f"job {job.job_id} has another worker by now")
    if change.attempts is not None and change.attempts != job.attempts:
        raise TransitionError(job, f"job {job.job_id} has begun again since")
    if change.expired and job.lease_ns >= change.at_ns:
        raise TransitionError(job, f"job {job.job_id} is still held by its worker")
    if change.worker and not change.expired and job.status == "running" and change.worker != job.worker:
        raise TransitionError(job, f"job {job.job_id} is run by another worker")
    fields = dict(change.changes)
    if change.to == "running":
        fields |= {"worker": change.worker, "lease_ns": change.lease_ns, "attempts": job.attempts + 1}
        fields["started_ns"] = job.started_ns or change.at_ns
    elif change.to == "queued":
        fields |= {"worker": change.worker or job.worker, "lease_ns": change.lease_ns}
    else:
        fields |= {"ended_ns": change.at_ns, "lease_ns": 0}
    return replace(job, status=change.to, **fields)


def noted(job: Job, seen: Job, usage: Mapping[str, Any], tools: tuple[str, ...]) -> Job:
    """The job with what it has used, which its worker may still say after it was cancelled.

    Args:
        job: The job as it is.
        seen: The job as its worker has begun it.
        usage, tools: What it has used, in all.

    Raises:
        TransitionError: It is another worker's, or has begun again since.
    """
    if (seen.worker, seen.attempts) != (job.worker, job.attempts):
        raise TransitionError(job, f"job {job.job_id} was begun by another worker, or again")
    return replace(job, usage=usage, tools=tools)
