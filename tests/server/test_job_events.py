"""What webhooks are told of jobs: with the change itself, or not at all."""

from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from sqlalchemy import Connection, select

from spanhook.jobs import Job, Transition, TransitionError, new_job
from spanhook.jobs.sql_jobs import SQLJobs
from spanhook.server import LOCAL, publish, tell_of_job
from spanhook.server.sealing import Seal
from spanhook.server.webhook_store import WebhookStore
from spanhook.store.control import Database, tables
from spanhook.telemetry import telemetry

pytestmark = pytest.mark.anyio
SECOND = 1_000_000_000


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def listening(database: Database, *events: str, tenant: str = "acme") -> None:
    given = {"url": "https://hooks.example/", "events": list(events), "enabled": True, "ordered": False}
    await WebhookStore(database, Seal(b"k" * 32)).create(LOCAL, tenant, given)


async def told(database: Database) -> list[dict[str, Any]]:
    """The data of the events in the outbox, with the traces that they belong to."""
    import json

    async with database.reading() as connection:
        rows = (
            await connection.execute(select(tables.webhook_deliveries).order_by(tables.webhook_deliveries.c.id))
        ).all()
    found = [(json.loads(row.body), row.traceparent) for row in rows]
    return [{"type": body["type"], "subject": body["subject"], **body["data"], "trace": at} for body, at in found]


async def completed(jobs: SQLJobs, job: Job) -> None:
    await jobs.create(job)
    begun = await jobs.move(job.job_id, Transition("running", 2 * SECOND, "me", lease_ns=9 * SECOND))
    assert begun is not None
    await jobs.note(begun, {"input_tokens": 1}, ())
    changes = {"result": "sunny", "usage": {"input_tokens": 3}, "tools": ("look",)}
    await jobs.move(job.job_id, Transition("completed", 5 * SECOND, "me", changes=changes))


async def test_each_status_is_an_event_in_the_trace_of_the_request(database: Database) -> None:
    await listening(database, "job.*")
    within = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    job = new_job("weather", "Berlin?", tenant_id="acme", user_id="ada", session_id="s")
    job = replace(job, created_ns=SECOND, trace={"traceparent": within})
    await completed(SQLJobs(database, told=tell_of_job), job)
    same = {"subject": job.job_id, "trace": within, "job_id": job.job_id, "agent_name": "weather", "user_id": "ada"}
    same |= {"conversation_id": "s", "created_at": "1970-01-01T00:00:01Z"}
    began = {"started_at": "1970-01-01T00:00:02Z", "attempts": 1}
    assert await told(database) == [
        {"type": "spanhook.job.queued", "status": "queued", "attempts": 0, **same},
        {"type": "spanhook.job.running", "status": "running", **began, **same},
        {
            "type": "spanhook.job.completed",
            "status": "completed",
            "ended_at": "1970-01-01T00:00:05Z",
            "duration_ms": 3000.0,
            "usage": {"input_tokens": 3},
            "tools_used": ["look"],
            **began,
            **same,
        },
    ]


async def test_content_is_told_if_telemetry_has_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    await listening(database, "job.completed", "job.failed")
    monkeypatch.setattr(telemetry, "span_content", True)
    jobs = SQLJobs(database, told=tell_of_job)
    await completed(jobs, new_job("weather", {"city": "Berlin"}, tenant_id="acme"))
    failing = await jobs.create(new_job("weather", None, tenant_id="acme"))
    changes = {"error": "no money", "error_type": "Reject", "status_code": 402}
    await jobs.move(failing.job_id, Transition("failed", SECOND, changes=changes))
    done, failed = await told(database)
    assert (done["input"], done["output"]) == ({"city": "Berlin"}, "sunny")
    assert (failed["error_type"], failed["status_code"], "output" in failed) == ("Reject", 402, False)


async def test_a_change_that_is_refused_is_no_event(database: Database) -> None:
    await listening(database, "*")
    jobs = SQLJobs(database, told=tell_of_job)
    job = new_job("weather", None, tenant_id="acme", key="one")
    await jobs.create(job)
    assert (await jobs.create(replace(job, job_id="job_other"))).job_id == job.job_id
    await jobs.move(job.job_id, Transition("cancelled", SECOND))
    with pytest.raises(TransitionError):
        await jobs.move(job.job_id, Transition("cancelled", SECOND))
    assert [one["type"] for one in await told(database)] == ["spanhook.job.queued", "spanhook.job.cancelled"]


async def test_a_change_and_its_event_are_one(database: Database) -> None:
    await listening(database, "*")

    def failing(connection: Connection, job: Job) -> None:
        tell_of_job(connection, job)
        raise ZeroDivisionError

    job = new_job("weather", None, tenant_id="acme")
    with pytest.raises(ZeroDivisionError):
        await SQLJobs(database, told=failing).create(job)
    assert await SQLJobs(database).get(job.job_id, None) is None
    assert await told(database) == []


async def test_jobs_of_one_tenant_are_not_told_to_another(database: Database) -> None:
    await listening(database, "*", tenant="globex")
    await listening(database, "*", tenant="")
    await SQLJobs(database, told=tell_of_job).create(new_job("weather", None, tenant_id="acme"))
    assert await told(database) == []


async def test_other_events_belong_to_the_current_trace(database: Database) -> None:
    await listening(database, "cron.executed")
    span = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1)))
    with trace.use_span(span):
        async with database.writing() as connection:
            event = {"cron_id": "nightly", "error": object()}
            assert await connection.run_sync(publish, "acme", "cron.executed", event, subject="nightly")
    (found,) = await told(database)
    assert found["trace"] == f"00-{1:032x}-{2:016x}-01"
