"""Background runs of agents: their states, where these are kept, what happens in them, and running them.

``sql_jobs`` needs the extra ``server``; nothing else here imports it.
"""

from spanhook.jobs.agents import Agent, load_agent
from spanhook.jobs.events import MOST_KEPT, JobEvent, Journal
from spanhook.jobs.file_jobs import FileJobs
from spanhook.jobs.job import FINAL, STATUSES, Job, JobStatus, Retry, Transition, TransitionError, moved, new_id
from spanhook.jobs.memory_jobs import MemoryJobs
from spanhook.jobs.performing import Outcome
from spanhook.jobs.runner import Runner
from spanhook.jobs.running import FullError, NoAgentError, RunnerSettings, new_job
from spanhook.jobs.store import EventLog, EventsTakenError, JobFilter, JobStore

__all__ = [
    "FINAL",
    "MOST_KEPT",
    "STATUSES",
    "Agent",
    "EventLog",
    "EventsTakenError",
    "FileJobs",
    "FullError",
    "Job",
    "JobEvent",
    "JobFilter",
    "JobStatus",
    "JobStore",
    "Journal",
    "MemoryJobs",
    "NoAgentError",
    "Outcome",
    "Retry",
    "Runner",
    "RunnerSettings",
    "Transition",
    "TransitionError",
    "load_agent",
    "moved",
    "new_id",
    "new_job",
]
