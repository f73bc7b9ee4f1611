"""What a runner of jobs takes and says."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from opentelemetry.propagate import inject

from spanhook.errors import Reject, SpanhookError, StoreError
from spanhook.jobs.events import MOST_KEPT
from spanhook.jobs.job import Job, new_id
from spanhook.jobs.keeping import GRACE_S
from spanhook.model import words


class FullError(SpanhookError):
    """Too many jobs wait; another may be asked for later."""


class QueueError(StoreError):
    """The queue that passes jobs on cannot be used now. It may be used again later."""


class NoAgentError(SpanhookError):
    """There is no agent of that name."""


@dataclass(frozen=True, slots=True)
class RunnerSettings:
    """How jobs are run.

    Attributes:
        concurrency: How many run at a time; and how many runs, beside them, that somebody waits for.
        waiting: How many may wait.
        lease_s: Seconds after which a job of a process that has died may be taken over.
        beat_s: Seconds between two renewals; a cancel by another process arrives with one of them.
        drain_s: Seconds that running jobs have to end when the process stops.
        attempts: How often a job may begin, if it may run again at all.
        grace_s: Seconds for which the events of a finished job are kept in memory.
        events: How many events of a job are kept in memory.
    """

    concurrency: int = 16
    waiting: int = 1000
    lease_s: float = 15.0
    beat_s: float = 0.5
    drain_s: float = 2.0
    attempts: int = 3
    grace_s: float = GRACE_S
    events: int = MOST_KEPT


def new_job(agent: str, given: Any, **fields: Any) -> Job:
    """A job that is asked for now, in the current trace.

    Args:
        agent: The agent's name.
        given: Its input: plain data.
        **fields: Other fields of ``Job``.
    """
    trace: dict[str, str] = {}
    inject(trace)
    return Job(job_id=new_id(), agent=agent, input=given, created_ns=time.time_ns(), trace=trace, **fields)


def failure(error: BaseException) -> dict[str, Any]:
    """Why a job has failed, as fields of it."""
    if isinstance(error, Reject):
        return {"error": error.reason, "error_type": "Reject", "status_code": error.status_code}
    return {"error": words(error) or type(error).__name__, "error_type": type(error).__name__}


def used_in_all(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What attempts have used together, as ``Usage.as_metadata`` has it; a cost that is not known adds nothing.

    Args:
        before: What earlier attempts have used; empty for nothing.
        now: What this one has used.
    """
    return {name: _sum(before.get(name), now.get(name)) for name in {**before, **now}}


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return one if other is None else other
    if isinstance(one, Mapping):
        return used_in_all(cast("Mapping[str, Any]", one), other)
    return round(one + other, 9) if isinstance(one + other, float) else one + other  # nano-dollars


def done(job: Job) -> dict[str, Any]:
    """What the last event of a job says."""
    told: dict[str, Any] = {"job_id": job.job_id, "status": job.status, "usage": dict(job.usage), "tools": [*job.tools]}
    if job.status == "completed":
        return {**told, "output": job.result}
    if job.status == "failed":
        return {**told, "error": job.error, "error_type": job.error_type, "status_code": job.status_code}
    return told
