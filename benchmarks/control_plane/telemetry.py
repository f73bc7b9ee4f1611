"""Telemetry as exporters send it: runs of one shape, each with other ids, users, agents and models."""

import gzip
import random
from collections.abc import Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from spanhook import semconv

BATCH = 512
START_NS = 1_700_000_000 * 10**9
APART_NS = 3_000_000
"""Between the starts of two runs."""


def requests() -> Iterator[bytes]:
    """Requests as an exporter sends them: protobuf and gzip, with whole runs that are cut where a batch ends."""
    draw, spans, number = random.Random(1), list[Span](), 0
    while True:
        while len(spans) < BATCH:
            spans += _run(number, draw)
            number += 1
        request = ExportTraceServiceRequest()
        resource_spans = request.resource_spans.add()
        resource_spans.resource.attributes.add(key="service.name").value.string_value = "benchmark"
        resource_spans.scope_spans.append(ScopeSpans(spans=spans[:BATCH]))
        del spans[:BATCH]
        yield gzip.compress(request.SerializeToString())


def _run(number: int, draw: random.Random) -> list[Span]:
    """Three model calls, two tool calls, and the agent around them; a decision in every tenth."""
    trace_id, root = draw.randbytes(16), draw.randbytes(8)
    start_ns = START_NS + number * APART_NS
    common = {
        semconv.RUN_ID: draw.randbytes(16).hex(),
        semconv.TENANT_ID: f"tenant-{number % 20}",
        semconv.USER_ID: f"user-{number % 500}",
        semconv.SESSION_ID: f"session-{number % 1000}",
        semconv.GEN_AI_CONVERSATION_ID: f"session-{number % 1000}",
        semconv.COVERAGE: "enforced",
        semconv.STATUS: "success" if number % 17 else "error",
    }
    call = {
        semconv.KIND: "llm.call",
        semconv.GEN_AI_OPERATION_NAME: "chat",
        semconv.GEN_AI_PROVIDER_NAME: "openai",
        semconv.GEN_AI_REQUEST_MODEL: f"model-{number % 3}",
        semconv.GEN_AI_RESPONSE_MODEL: f"model-{number % 3}",
        semconv.GEN_AI_RESPONSE_ID: "chatcmpl-123456789",
        semconv.SERVER_ADDRESS: "api.openai.com",
        semconv.SERVER_PORT: 443,
        semconv.GEN_AI_USAGE_INPUT_TOKENS: 100,
        semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 20,
        semconv.COST_USD: 0.00045,
    }
    tool = {
        semconv.KIND: "tool.execute",
        semconv.GEN_AI_OPERATION_NAME: "execute_tool",
        semconv.GEN_AI_TOOL_NAME: "search",
        semconv.GEN_AI_TOOL_TYPE: "function",
        semconv.GEN_AI_TOOL_CALL_ID: "call_123",
        semconv.GEN_AI_AGENT_NAME: f"agent-{number % 10}",
    }
    agent = {
        semconv.KIND: "agent.invoke",
        semconv.GEN_AI_OPERATION_NAME: "invoke_agent",
        semconv.GEN_AI_AGENT_NAME: f"agent-{number % 10}",
        semconv.USAGE_INPUT_TOKENS: 300,
        semconv.USAGE_OUTPUT_TOKENS: 60,
        semconv.LLM_CALLS: 3,
        semconv.TOOL_CALLS: 2,
    }
    spans: list[Span] = []
    for place, own in enumerate((call, tool, call, tool, call, agent)):
        last = own is agent
        span = Span(
            trace_id=trace_id, span_id=root if last else draw.randbytes(8), parent_span_id=b"" if last else root
        )
        span.name, span.flags = str(own[semconv.GEN_AI_OPERATION_NAME]), 0x101
        span.start_time_unix_nano = start_ns if last else start_ns + 10 + place * 1_000
        span.end_time_unix_nano = span.start_time_unix_nano + (9_000 if last else 900)
        _set(span, {**common, **own})
        spans.append(span)
    if number % 10 == 0:
        event = spans[-1].events.add(name=semconv.EVENT_DECISION, time_unix_nano=start_ns)
        _set(event, {semconv.HOOK: f"hook-{number % 7}", semconv.EVENT: "agent.invoke.pre", semconv.DECISION: "modify"})
    return spans


def _set(told: Any, attributes: dict[str, Any]) -> None:
    for key, value in attributes.items():
        to = told.attributes.add(key=key).value
        if isinstance(value, str):
            to.string_value = value
        elif isinstance(value, int):
            to.int_value = value
        else:
            to.double_value = value
