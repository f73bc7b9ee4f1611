"""Background runs, what happens in them, and schedules of them."""

from sqlalchemy import Column, Index, Table

from spanhook.store.control.columns import Big, SafeText
from spanhook.store.control.tables._base import json_column, metadata, number, text_column

jobs = Table(
    "spanhook_jobs",
    metadata,
    text_column("job_id", key=True),
    text_column("tenant_id"),
    text_column("agent"),
    text_column("status"),
    text_column("worker"),
    number("lease_ns"),
    number("created_ns"),
    Column("ended_ns", Big, nullable=True),
    Column("request_key", SafeText, nullable=True),
    json_column("job"),
    Index(None, "tenant_id", "created_ns", "job_id"),
    Index(None, "created_ns", "job_id"),
    Index(None, "status", "lease_ns"),
    Index(None, "ended_ns"),
    Index("uq_spanhook_jobs_request_key", "tenant_id", "agent", "request_key", unique=True),
)
"""Jobs; ``job`` is the whole of each, the other columns are what they are found by. Of the two ``lease_ns`` the column
is right; ``ended_ns`` is null until a job has finished."""

job_events = Table(
    "spanhook_job_events",
    metadata,
    text_column("job_id", key=True),
    number("event_id", key=True),
    text_column("type"),
    json_column("data"),
    number("time_ns"),
)
"""The last events of each job, numbered without gaps."""

schedules = Table("spanhook_schedules", metadata, text_column("schedule_key", key=True), text_column("state"))
"""What is known of each schedule between its ticks, as JSON."""
