"""Requests of OTLP as spanhook's exporters send them."""

import gzip
from collections.abc import Sequence
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanhook import semconv
from spanhook.store.control import Ingestor, Kept

PROTOBUF, JSON = "application/x-protobuf", "application/json"
DAY = 20_000
START_NS = DAY * 86_400 * 10**9


def value(given: Any) -> AnyValue:
    if isinstance(given, bool):
        return AnyValue(bool_value=given)
    if isinstance(given, str):
        return AnyValue(string_value=given)
    if isinstance(given, int):
        return AnyValue(int_value=given)
    if isinstance(given, float):
        return AnyValue(double_value=given)
    if isinstance(given, dict):
        found = AnyValue()
        found.kvlist_value.values.extend(attributes(given))
        return found
    return AnyValue()


def attributes(given: dict[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=key, value=value(one)) for key, one in given.items()]


def ids(number: int) -> tuple[bytes, bytes]:
    """A trace id and the first span id in it."""
    return number.to_bytes(16, "big"), (number * 100).to_bytes(8, "big")


def span(number: int, place: int, start: int, end: int, kind: str, **more: Any) -> Span:
    """A span of run ``number``, the ``place``-th in it; 0 is the outermost. Times are in ms after ``START_NS``."""
    trace_id, root = ids(number)
    parent = more.pop("parent", None if place == 0 else 0)
    given = {
        semconv.KIND: kind,
        semconv.STATUS: "success",
        semconv.RUN_ID: f"run-{number}",
        semconv.TENANT_ID: "acme",
        semconv.USER_ID: "u1",
        semconv.SESSION_ID: "s1",
        **{key: one for key, one in more.items() if "." in key},
    }
    first = int.from_bytes(root, "big")
    return Span(
        trace_id=trace_id,
        span_id=(first + place).to_bytes(8, "big"),
        parent_span_id=b"" if parent is None else (first + parent).to_bytes(8, "big"),
        name=more.get("name", f"{kind} {place}"),
        start_time_unix_nano=START_NS + start * 1_000_000,
        end_time_unix_nano=START_NS + end * 1_000_000,
        attributes=attributes(given),
        flags=more.get("flags", 0x101),
    )


def run_of(number: int) -> list[Span]:
    """Two model calls and a tool call, and the agent around them, in the order in which they end."""
    cost = {semconv.COST_USD: 0.25}
    calls = [
        span(
            number,
            place,
            10 * place,
            10 * place + 5,
            "llm.call",
            **{
                semconv.GEN_AI_RESPONSE_MODEL: model,
                semconv.GEN_AI_USAGE_INPUT_TOKENS: 100,
                semconv.GEN_AI_USAGE_OUTPUT_TOKENS: 20,
                **(cost if model == "priced" else {}),
            },
        )
        for place, model in ((1, "priced"), (2, "unpriced"))
    ]
    tool = span(
        number, 3, 30, 35, "tool.execute", **{semconv.GEN_AI_TOOL_NAME: "search", semconv.GEN_AI_AGENT_NAME: "a"}
    )
    root = span(number, 0, 0, 50, "agent.invoke", **{semconv.GEN_AI_AGENT_NAME: "researcher"})
    return [*calls, tool, root]


def run_event(number: int, **more: Any) -> LogRecord:
    """The log event of the run that ``run_of`` gives."""
    trace_id, root = ids(number)
    given = {
        semconv.RUN_ID: f"run-{number}",
        semconv.TENANT_ID: "acme",
        semconv.USER_ID: "u1",
        semconv.SESSION_ID: "s1",
        semconv.GEN_AI_AGENT_NAME: "researcher",
        semconv.KIND: "agent.invoke",
        semconv.TARGET: "researcher",
        semconv.STATUS: "success",
        semconv.DURATION: 0.05,
        semconv.LLM_CALLS: 2,
        semconv.TOOL_CALLS: 1,
        **more,
    }
    used = {"input_tokens": 100, "output_tokens": 20}
    body = {semconv.USAGE_BY_MODEL: {"priced": {**used, "cost_usd": 0.25}, "unpriced": {**used, "cost_usd": None}}}
    return LogRecord(
        trace_id=trace_id,
        span_id=root,
        event_name=semconv.EVENT_RUN,
        time_unix_nano=START_NS + 50_000_000,
        attributes=attributes(given),
        body=value(body),
    )


def decision(**more: Any) -> dict[str, Any]:
    """The attributes of a decision, as on a span's event."""
    return {
        semconv.HOOK: "guard",
        semconv.EVENT: "agent.invoke.pre",
        semconv.DECISION: "modify",
        semconv.DECISION_REASON: "because",
        semconv.FAIL_MODE: "closed",
        semconv.HOOK_DURATION: 0.001,
        **more,
    }


def decision_event(number: int, place: int = 0, **more: Any) -> LogRecord:
    """The log event of a decision about a span of a run."""
    trace_id, root = ids(number)
    given = decision(
        **{
            semconv.RUN_ID: f"run-{number}",
            semconv.TENANT_ID: "acme",
            semconv.USER_ID: "u1",
            semconv.KIND: "agent.invoke",
            semconv.TARGET: "researcher",
            semconv.MODE: "enforce",
            semconv.COVERAGE: "enforced",
            **more,
        }
    )
    return LogRecord(
        trace_id=trace_id,
        span_id=(int.from_bytes(root, "big") + place).to_bytes(8, "big"),
        event_name=semconv.EVENT_DECISION,
        time_unix_nano=START_NS + 2_000_000,
        attributes=attributes(given),
    )


def traces(spans: Sequence[Span], service: str = "test") -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.extend(attributes({"service.name": service}))
    scope = resource.scope_spans.add()
    scope.scope.name = "spanhook"
    scope.spans.extend(spans)
    return request


def logs(records: Sequence[LogRecord], service: str = "test") -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    resource.resource.attributes.extend(attributes({"service.name": service}))
    scope = resource.scope_logs.add()
    scope.scope.name = "spanhook"
    scope.log_records.extend(records)
    return request


def metrics(points: Sequence[tuple[str, float]]) -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for name, number in points:
        metric = scope.metrics.add(name=name, unit="1")
        metric.gauge.data_points.add(time_unix_nano=START_NS, as_double=number, attributes=attributes({"a": "b"}))
    histogram = scope.metrics.add(name="took", unit="s").histogram.data_points.add(time_unix_nano=START_NS)
    histogram.count, histogram.sum, histogram.min = 3, 1.5, 0.25
    histogram.explicit_bounds.extend([1.0])
    histogram.bucket_counts.extend([2, 1])
    return request


async def send_spans(ingestor: Ingestor, spans: Sequence[Span], tenant: str = "") -> Kept:
    body = gzip.compress(traces(spans).SerializeToString())
    return await ingestor.take("traces", body, content_type=PROTOBUF, content_encoding="gzip", tenant=tenant)


async def send_logs(ingestor: Ingestor, records: Sequence[LogRecord], tenant: str = "") -> Kept:
    body = logs(records).SerializeToString()
    return await ingestor.take("logs", body, content_type=PROTOBUF, tenant=tenant)
