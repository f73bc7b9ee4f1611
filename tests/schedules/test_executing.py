"""One tick as an operation: its span, its trace and its identity, however it ends."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from opentelemetry import trace

import spanhook
from spanhook import testing
from spanhook.schedules import CronEntry, Execution, execute

pytestmark = pytest.mark.anyio
CRON = CronEntry(id="news", schedule="0 9 * * *", agent="reader", input="hi", tenant_id="acme", session_id="morning")
TICK = Execution("exec_1", datetime(2026, 1, 30, 9, tzinfo=UTC))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_tick_is_one_span_in_a_trace_of_its_own() -> None:
    seen = list[Any]()

    async def work() -> str:
        op = spanhook.current_operation()
        assert op is not None
        seen.append((op.kind, op.name, op.identity.tenant_id, op.identity.session_id, op.identity.run_id))
        seen.append(dict(op.request.arguments))
        seen.append(op.request.inputs)
        return "done"

    with testing.recorder() as recorded:
        with trace.get_tracer("application").start_as_current_span("around"):
            outcome = await execute(CRON, TICK, work)
        assert spanhook.current_operation() is None
    assert (outcome.result, outcome.error) == ("done", None)
    assert seen == [
        ("cron.execute", "news", "acme", "morning", "exec_1"),
        {
            "cron_id": "news",
            "execution_id": "exec_1",
            "agent_name": "reader",
            "scheduled_at": "2026-01-30T09:00:00+00:00",
        },
        "hi",
    ]
    (span,) = [one for one in recorded.spans if one.name.startswith("cron")]
    assert span.name == "cron news"
    assert span.parent is None
    assert span.attributes is not None
    assert span.attributes["spanhook.status"] == "success"
    assert span.attributes["spanhook.tenant.id"] == "acme"


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError("x"), "error"), (asyncio.CancelledError(), "cancelled"), (spanhook.Reject("no"), "rejected")],
)
async def test_what_was_raised_is_the_outcome(error: BaseException, status: str) -> None:
    async def work() -> None:
        raise error

    with testing.recorder() as recorded:
        outcome = await execute(CRON, TICK, work)
    assert outcome.error is error
    (span,) = recorded.spans
    assert span.attributes is not None
    assert span.attributes["spanhook.status"] == status
