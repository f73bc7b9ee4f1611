"""Queues of jobs on Redis and PostgreSQL, by SAQ, and workers that take from them. They need the extra ``worker``."""

from spanhook.jobs.workers.queue import JobQueue
from spanhook.jobs.workers.working import WorkerSettings, work

__all__ = ["JobQueue", "WorkerSettings", "work"]
