"""What is measured of jobs, where they begin and where they end."""

from typing import Any

from spanhook import semconv
from spanhook.gating import Measures
from spanhook.jobs.job import Job

SCOPE = "spanhook.jobs"


class Figures:
    """The instruments of one process's jobs."""

    def __init__(self) -> None:
        measures, bounds = Measures("", scope=SCOPE), semconv.AGENT_DURATION_BUCKETS
        self.duration = measures.histogram(
            semconv.METRIC_JOB_DURATION, "s", "Time from the beginning of a job to its end", bounds
        )
        self.wait = measures.histogram(
            semconv.METRIC_JOB_WAIT, "s", "Time from asking for a job to its beginning", bounds
        )

    def began(self, job: Job) -> None:
        """A job has begun; how long it has waited is measured the first time."""
        if job.attempts == 1:
            self.wait(_seconds(job.created_ns, job.started_ns), _whose(job))

    def ended(self, job: Job) -> None:
        """A job has come to its end; its time is 0 if it never began."""
        told = {**_whose(job), semconv.JOB_STATUS: job.status}
        if job.error_type:
            told[semconv.ERROR_TYPE] = job.error_type
        self.duration(_seconds(job.started_ns or job.ended_ns, job.ended_ns), told)


def _whose(job: Job) -> dict[str, Any]:
    return {semconv.GEN_AI_AGENT_NAME: job.agent}


def _seconds(begin_ns: int, end_ns: int) -> float:
    return max(0, end_ns - begin_ns) / 1e9  # by clocks of two machines, maybe
