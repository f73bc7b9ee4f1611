"""What webhooks are told of jobs, in the transaction that changes them."""

from datetime import UTC, datetime
from typing import Any

from opentelemetry.propagate import extract
from sqlalchemy import Connection

from spanhook.jobs import STATUSES, Job
from spanhook.server.webhook_outbox import publish
from spanhook.webhooks import traceparent, utc_text

JOB_EVENTS = tuple(f"job.{status}" for status in STATUSES)
"""What webhooks are told of a job, in the order in which it may happen."""
_NS = 1_000_000_000


def tell_of_job(connection: Connection, job: Job) -> None:
    """Put the event of a new job, or of a job whose status has changed, into the outbox: one of ``JOB_EVENTS``. Its
    deliveries belong to the job's trace.

    Args:
        connection: The transaction that makes the change.
        job: The job as it is then.
    """
    publish(
        connection,
        job.tenant_id,
        f"job.{job.status}",
        _facts(job),
        subject=job.job_id,
        trace=traceparent(extract(job.trace)) if job.trace else "",
    )


def _facts(job: Job) -> dict[str, Any]:
    """What there is to say of a job, by the names that payloads of events have."""
    facts: dict[str, Any] = {
        "job_id": job.job_id,
        "agent_name": job.agent,
        "status": job.status,
        "conversation_id": job.session_id,
        "user_id": job.user_id,
        "attempts": job.attempts,
        "created_at": _time(job.created_ns),
        "started_at": _time(job.started_ns),
        "ended_at": _time(job.ended_ns),
        "input": job.input,
    }
    if job.finished:
        facts |= {"usage": dict(job.usage), "tools_used": list(job.tools)}
        facts |= {"duration_ms": (job.ended_ns - job.started_ns) / 1e6} if job.started_ns else {}
    if job.status == "completed":
        facts["output"] = job.result
    if job.status == "failed":
        facts |= {"error": job.error, "error_type": job.error_type, "status_code": job.status_code or None}
    return {name: value for name, value in facts.items() if value not in ("", None)}


def _time(ns: int) -> str:
    return utc_text(datetime.fromtimestamp(ns / _NS, UTC)) if ns else ""
