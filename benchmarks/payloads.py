"""Agent runs as telemetry: the attributes of one span, and complete export requests."""

import json
import random
import time
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

SPANS_PER_RUN = 6
BATCH = 512 // SPANS_PER_RUN * SPANS_PER_RUN
"""Complete runs, with about as many spans as an SDK sends at once."""

STARTED: dict[str, Any] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.agent.name": "planner",
}
ENDED: dict[str, Any] = {
    "gen_ai.response.model": "gpt-4o-mini",
    "spanhook.kind": "llm.call",
    "spanhook.status": "success",
    "spanhook.coverage": "enforced",
    "spanhook.run.id": "4a4c4fb74bf6a8a0e308047adbd75d49",
    "spanhook.tenant.id": "acme",
    "user.id": "cyd",
    "session.id": "thread-1",
    "gen_ai.usage.input_tokens": 2894,
    "gen_ai.usage.output_tokens": 589,
    "gen_ai.usage.cache_read.input_tokens": 1536,
    "spanhook.cost.usd": 0.0006723,
}
"""A model call's attributes at its start, and at its end."""
BODY: dict[str, Any] = {
    "spanhook.usage.by_model": {"gpt-4o-mini": {"input_tokens": 2894, "output_tokens": 589}},
    "spanhook.decisions": {},
}
"""The attributes of a run's log event."""


def _attribute(key: str, value: str | float) -> KeyValue:
    match value:
        case str():
            return KeyValue(key=key, value=AnyValue(string_value=value))
        case int():
            return KeyValue(key=key, value=AnyValue(int_value=value))
        case float():
            return KeyValue(key=key, value=AnyValue(double_value=value))


_ATTRIBUTES = [_attribute(key, value) for key, value in {**STARTED, **ENDED}.items()]


def traces(rng: random.Random, *, rooted: bool = True) -> bytes:
    """A batch of spans; without their roots, they wait in the collector."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(_attribute("service.name", "benchmark"))
    spans = resource.scope_spans.add().spans
    now = time.time_ns()
    for _ in range(BATCH // SPANS_PER_RUN):
        trace, root = rng.randbytes(16), rng.randbytes(8)
        for number in range(SPANS_PER_RUN):
            is_root = rooted and number == SPANS_PER_RUN - 1
            spans.append(
                Span(
                    trace_id=trace,
                    span_id=root if is_root else rng.randbytes(8),
                    parent_span_id=b"" if is_root else root,
                    name="invoke_agent planner" if is_root else "chat gpt-4o-mini",
                    kind=Span.SPAN_KIND_INTERNAL if is_root else Span.SPAN_KIND_CLIENT,
                    start_time_unix_nano=now - 2_000_000_000,
                    end_time_unix_nano=now,
                    attributes=_ATTRIBUTES,
                )
            )
    return request.SerializeToString()


def logs(rng: random.Random) -> bytes:
    """A batch of log events."""
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    resource.resource.attributes.append(_attribute("service.name", "benchmark"))
    records = resource.scope_logs.add().log_records
    body = AnyValue(string_value=json.dumps(BODY))
    for _ in range(BATCH):
        records.append(
            LogRecord(
                trace_id=rng.randbytes(16),
                time_unix_nano=time.time_ns(),
                event_name="spanhook.run",
                body=body,
                attributes=_ATTRIBUTES,
            )
        )
    return request.SerializeToString()
