"""What is too old or too much goes; what must stay stays."""

import os
import time
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import func, insert, select, update

from spanhook.store.control import (
    Database,
    Execution,
    ExecutionEntry,
    Ingestor,
    Retention,
    RetentionLimits,
    record_executions,
    tables,
    usage_by,
)
from tests.store.control.otlp import PROTOBUF, decision_event, metrics, run_event, run_of, send_logs, send_spans

pytestmark = pytest.mark.anyio
KEPT = (tables.spans, tables.logs, tables.metrics, tables.decisions, tables.execution_logs)


async def _counts(database: Database) -> dict[str, int]:
    found: dict[str, int] = {}
    async with database.reading() as connection:
        for table in (*KEPT, tables.runs, tables.run_models, tables.run_hooks, tables.resources):
            found[table.name] = (await connection.execute(select(func.count()).select_from(table))).scalar_one()
    return found


async def _fill(database: Database, ingestor: Ingestor, numbers: range) -> None:
    for number in numbers:
        await send_spans(ingestor, run_of(number))
        await send_logs(ingestor, [run_event(number), decision_event(number)])
    await ingestor.take("metrics", metrics([("a", 1.0)]).SerializeToString(), content_type=PROTOBUF)
    await record_executions(
        database, [ExecutionEntry(log_id=f"l{numbers.start}", event_type="e", time_ns=1, results=(Execution("h"),))]
    )


async def _make_older(database: Database, seconds: int) -> None:
    """As if all of it had come before."""
    async with database.writing() as connection:
        for table in (*KEPT, tables.runs, tables.resources):
            column = next(table.c[name] for name in ("received_ns", "updated_ns", "time_ns") if name in table.c)
            await connection.execute(update(table).values({column: column - seconds * 10**9}))


async def test_what_is_too_old_goes(database: Database, ingestor: Ingestor) -> None:
    await _fill(database, ingestor, range(1, 4))
    await _make_older(database, 10_000)
    await _fill(database, ingestor, range(4, 6))
    before = await usage_by(database, None, ("model",))
    retention = Retention(database, RetentionLimits(age_s=5_000, sums_age_s=0))
    figures = await retention.sweep()
    assert await _counts(database) == {
        "spanhook_spans": 8,
        "spanhook_logs": 4,
        "spanhook_metrics": 2,
        "spanhook_decisions": 2,
        "spanhook_execution_logs": 1,
        "spanhook_runs": 2,
        "spanhook_run_models": 4,
        "spanhook_run_hooks": 2,
        "spanhook_resources": 2,
    }
    assert figures.deleted["spanhook_spans"] == 12
    assert figures.deleted["spanhook_runs"] == 3
    assert figures.bytes > 0
    assert await usage_by(database, None, ("model",)) == before
    assert (await retention.sweep()).deleted == figures.deleted


async def test_sums_go_later(database: Database, ingestor: Ingestor) -> None:
    await _fill(database, ingestor, range(1, 2))
    figures = await Retention(database, RetentionLimits()).sweep()
    assert figures.deleted == {"spanhook_usage": 2, "spanhook_hook_statistics": 1}
    assert (await _counts(database))["spanhook_runs"] == 1


async def test_resources_go_when_nothing_can_need_them(database: Database, ingestor: Ingestor) -> None:
    await _fill(database, ingestor, range(1, 2))
    await _make_older(database, 20_000)
    await Retention(database, RetentionLimits(age_s=5_000)).sweep()
    assert set((await _counts(database)).values()) == {0}


async def test_what_a_sender_says_of_time_keeps_nothing(database: Database, ingestor: Ingestor) -> None:
    future = run_of(1)
    for one in future:
        one.start_time_unix_nano = one.end_time_unix_nano = 2**63 - 1
    await send_spans(ingestor, future)
    await _make_older(database, 10_000)
    await Retention(database, RetentionLimits(age_s=5_000)).sweep()
    assert (await _counts(database))["spanhook_spans"] == 0


async def test_it_stays_within_its_size(database: Database, ingestor: Ingestor) -> None:
    most = 3_000_000
    retention = Retention(database, RetentionLimits(age_s=0, size_bytes=most))
    for number in range(1, 13):
        spans = [
            Span(trace_id=number.to_bytes(16, "big"), span_id=bytes([place, *b"1234567"])) for place in range(1, 200)
        ]
        for one in spans:
            one.attributes.add(key="content").value.string_value = os.urandom(1_000).hex()
        await send_spans(ingestor, spans)
        figures = await retention.sweep()
        assert figures.bytes <= most
    assert 0 < (await _counts(database))["spanhook_spans"] < 12 * 199
    if database.path:
        assert Path(database.path).stat().st_size < 2 * most  # noqa: ASYNC240 - nothing else runs


async def test_deliveries_that_have_ended_go_before_telemetry_that_is_younger(
    database: Database, ingestor: Ingestor
) -> None:
    def row(number: int, ended_ns: int) -> dict[str, object]:
        given: dict[str, object] = dict.fromkeys(
            ("webhook_id", "tenant_id", "event_id", "event_type", "traceparent"), "a"
        )
        given |= {"delivery_id": str(number), "body": "x" * 10_000, "state": "dead" if ended_ns else "pending"}
        return given | {"attempts": 1, "due_ns": 1, "tried": [], "created_ns": 1, "ended_ns": ended_ns}

    async with database.writing() as connection:
        rows = [row(number, max(0, number - 1)) for number in range(400)]
        await connection.execute(insert(tables.webhook_deliveries), rows)
    await _fill(database, ingestor, range(1, 2))
    before = await _counts(database)
    figures = await Retention(database, RetentionLimits(age_s=5_000, size_bytes=3_000_000)).sweep()
    assert await _counts(database) == before
    kept = select(tables.webhook_deliveries.c.ended_ns).order_by(tables.webhook_deliveries.c.id)
    async with database.reading() as connection:
        left = list((await connection.execute(kept)).scalars())
    deleted = figures.deleted.get("spanhook_webhook_deliveries", 0)
    assert left == [0, 0, *range(1 + deleted, 399)]
    assert bool(deleted) == bool(database.path)  # elsewhere they do not count towards the size


async def test_in_the_background_beside_writers(database: Database, ingestor: Ingestor) -> None:
    await _fill(database, ingestor, range(1, 3))
    await _make_older(database, 10_000)
    retention = Retention(database, RetentionLimits(age_s=5_000, interval_s=0.01))
    retention.start()
    deadline = time.monotonic() + 60
    while (await _counts(database))["spanhook_spans"] and time.monotonic() < deadline:
        await send_logs(ingestor, [run_event(9)])
    await retention.close()
    assert (await _counts(database))["spanhook_spans"] == 0
    assert retention.figures.failures == 0
