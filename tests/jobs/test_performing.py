"""A job is one trace with its request, and one span."""

import asyncio

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import spanhook
from spanhook.jobs import Agent, MemoryJobs, Runner, new_job

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_work_is_in_the_trace_of_its_request() -> None:
    seen: list[tuple[int, str, str]] = []

    async def agent(given: str) -> str:
        op = spanhook.current_operation()
        assert op is not None
        context = trace.get_current_span().get_span_context()
        seen.append((context.trace_id, op.kind, op.identity.tenant_id))
        return given

    around = trace.NonRecordingSpan(
        trace.SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))
    )
    runner = Runner({"a": Agent("a", agent)}, MemoryJobs())
    await runner.start()
    spanhook.instrument(only=(), tracer_provider=TracerProvider())  # older APIs continue no trace without one
    try:
        with trace.use_span(around):
            job = new_job("a", "x", tenant_id="acme")
        await asyncio.create_task(runner.submit(job))
        last = [event async for event in runner.events(job.job_id)][-1]
        assert last.data["output"] == "x"
        assert seen == [(0xABC, "agent.invoke", "acme")]
    finally:
        await runner.close()
