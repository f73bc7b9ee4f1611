"""What ``/v1/agents`` and ``/v1/jobs`` take and give."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from spanhook.jobs import Job, JobStatus
from spanhook.server.routes.hook_models import time_of


class RunRequest(BaseModel):
    """A run of an agent that is asked for."""

    model_config = ConfigDict(extra="forbid")

    input: Any = Field(default=None, description="What the graph or the callable is given.")
    session_id: str = Field(default="", max_length=200, description="The conversation; a graph's thread.")


class RunOutput(BaseModel):
    """What an agent has returned."""

    output: Any


class AgentView(BaseModel):
    """An agent that is served."""

    name: str


class AgentList(BaseModel):
    """The agents that are served, by name."""

    agents: list[AgentView]


class JobView(BaseModel):
    """A job."""

    job_id: str
    agent: str
    tenant_id: str
    user_id: str
    session_id: str
    status: JobStatus
    input: Any
    result: Any
    error: str
    error_type: str
    status_code: int = Field(description="The HTTP status of a refusal; 0 if it was not refused.")
    usage: dict[str, Any]
    tools: list[str]
    attempts: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, job: Job) -> "JobView":
        """What is shown of a job."""
        times = {"created_at": job.created_ns, "started_at": job.started_ns, "ended_at": job.ended_ns}
        own: dict[str, Any] = {name: time_of(ns) if ns else None for name, ns in times.items()}
        own |= {"tools": [*job.tools], "usage": dict(job.usage)}
        return cls(**{name: own[name] if name in own else getattr(job, name) for name in cls.model_fields})


class JobPage(BaseModel):
    """Jobs, the newest first."""

    jobs: list[JobView]
    next_cursor: str = Field(description="For the next page; empty on the last one.")
