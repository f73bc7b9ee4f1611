"""What the collector costs: spans and log events per second of CPU, memory per trace held, bytes per item.

Run it as ``python -m benchmarks.pipeline``; it needs what ``.ci/tools otelcol`` builds. CPU seconds are the collector's
own, so that a busy machine changes little.
"""

import json
import os
import random
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from tests.e2e.programs import until
from tests.e2e.stack import Pipe, pipe

BATCH = 512
SPANS_PER_RUN = 6
TICKS = os.sysconf("SC_CLK_TCK")


def _attribute(key: str, value: str | float) -> KeyValue:
    match value:
        case str():
            return KeyValue(key=key, value=AnyValue(string_value=value))
        case int():
            return KeyValue(key=key, value=AnyValue(int_value=value))
        case float():
            return KeyValue(key=key, value=AnyValue(double_value=value))


_ATTRIBUTES = [
    _attribute("gen_ai.operation.name", "chat"),
    _attribute("gen_ai.provider.name", "openai"),
    _attribute("gen_ai.request.model", "gpt-4o-mini"),
    _attribute("gen_ai.response.model", "gpt-4o-mini"),
    _attribute("gen_ai.agent.name", "planner"),
    _attribute("spanhook.kind", "llm.call"),
    _attribute("spanhook.status", "success"),
    _attribute("spanhook.coverage", "enforced"),
    _attribute("spanhook.run.id", "4a4c4fb74bf6a8a0e308047adbd75d49"),
    _attribute("spanhook.tenant.id", "acme"),
    _attribute("user.id", "cyd"),
    _attribute("session.id", "thread-1"),
    _attribute("gen_ai.usage.input_tokens", 2894),
    _attribute("gen_ai.usage.output_tokens", 589),
    _attribute("gen_ai.usage.cache_read.input_tokens", 1536),
    _attribute("spanhook.cost.usd", 0.0006723),
]
"""As a model call has them."""


def _traces(runs: int, rng: random.Random, *, rooted: bool = True) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.append(_attribute("service.name", "benchmark"))
    spans = resource.scope_spans.add().spans
    now = time.time_ns()
    for _ in range(runs):
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


def _logs(records: int, rng: random.Random) -> bytes:
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    resource.resource.attributes.append(_attribute("service.name", "benchmark"))
    logs = resource.scope_logs.add().log_records
    body = AnyValue(string_value=json.dumps({"spanhook.usage.by_model": {"gpt-4o-mini": {"input_tokens": 2894}}}))
    for _ in range(records):
        logs.append(
            LogRecord(
                trace_id=rng.randbytes(16),
                time_unix_nano=time.time_ns(),
                event_name="spanhook.run",
                body=body,
                attributes=_ATTRIBUTES,
            )
        )
    return request.SerializeToString()


def _post(url: str, body: bytes) -> None:
    headers = {"Content-Type": "application/x-protobuf"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
        answer.read()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _settled(pid: int) -> float:
    """CPU seconds once the process rests."""

    def rests() -> float | None:
        before = _cpu(pid)
        time.sleep(2.0)
        after = _cpu(pid)
        return after if after - before < 0.06 else None

    return until(rests, "rest", 120)


def _rate(one: Pipe, path: str, make: Callable[[], bytes], items: int, seconds: float) -> float:
    pid = one.collector.pid
    _post(one.endpoint + path, make())
    before, sent, deadline = _settled(pid), 0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        _post(one.endpoint + path, make())
        sent += items
    return sent / (_settled(pid) - before)


def main(seconds: float = 10.0) -> None:
    """Measure, and print a JSON document."""
    rng = random.Random(1)
    found: dict[str, int] = {}
    runs = BATCH // SPANS_PER_RUN
    quick = {"SPANHOOK_SAMPLING_PERCENT": "10", "SPANHOOK_COLLECTOR_OWN_MS": "60000"}
    with tempfile.TemporaryDirectory() as folder, pipe(Path(folder), quick) as one:
        spans = _rate(one, "/v1/traces", lambda: _traces(runs, rng), runs * SPANS_PER_RUN, seconds)
        found["spans_per_cpu_second"] = round(spans)
        found["bytes_per_span"] = round(len(_traces(runs, rng)) / (runs * SPANS_PER_RUN))
        found["log_events_per_cpu_second"] = round(_rate(one, "/v1/logs", lambda: _logs(BATCH, rng), BATCH, seconds))
        found["bytes_per_log_event"] = round(len(_logs(BATCH, rng)) / BATCH)
    held = 20_000
    with tempfile.TemporaryDirectory() as folder, pipe(Path(folder), {**quick, "SPANHOOK_SAMPLING_WAIT": "1h"}) as one:
        url, pid = f"{one.endpoint}/v1/traces", one.collector.pid
        _post(url, _traces(runs, rng, rooted=False))
        _settled(pid)
        before = _resident(pid)
        for _ in range(held // runs):
            _post(url, _traces(runs, rng, rooted=False))
        _settled(pid)
        found["bytes_per_trace_held"] = round((_resident(pid) - before) / held)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
