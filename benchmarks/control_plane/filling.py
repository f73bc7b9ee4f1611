"""What the control plane's database takes in, and how quickly it answers.

Run it as ``python -m benchmarks.control_plane``. It fills a database in a temporary folder, or that of ``--database``,
which must be empty. CPU seconds are those of this process with all its threads; times of answers are of the clock.
"""

import argparse
import asyncio
import gzip
import json
import random
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

from benchmarks.printing import table
from benchmarks.terminal import machine, tell
from spanhook import semconv
from spanhook.store.control import (
    Database,
    Execution,
    ExecutionEntry,
    Ingestor,
    RunFilter,
    hook_figures,
    record_executions,
    run_detail,
    runs_page,
    usage_by,
)

BATCH, SENDERS, SPANS_PER_RUN = 512, 8, 6
_SPANS, _QUICK_SPANS = 1_000_000, 20_000
_LOGS, _QUICK_LOGS = 1_000_000, 10_000
_STEP = 100
_LIBRARIES = ("sqlalchemy", "aiosqlite", "psycopg", "protobuf")
_START_NS = 1_700_000_000 * 10**9
FILTERS = {
    "all": RunFilter(),
    "status": RunFilter(status="error"),
    "running": RunFilter(status="running"),
    "agent": RunFilter(agent="agent-4"),
    "user and status": RunFilter(user_id="user-77", status="error"),
    "model": RunFilter(model="model-1"),
    "hook and model": RunFilter(hook="hook-3", model="model-1"),
    "search": RunFilter(search="agent-4"),
    "search, nothing found": RunFilter(search="no such thing"),
    "status, nothing found": RunFilter(status="success", agent="no such agent"),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.control_plane", description="The control plane.")
    parser.add_argument("--quick", action="store_true", help="fewer spans: a first look")
    parser.add_argument("--database", default="", metavar="URL", help="an empty database, such as postgresql://...")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.database or f"sqlite:///{folder}/spanhook.db"
        document = asyncio.run(_measured(url, options.quick))
    document["machine"] = machine(_LIBRARIES)
    print(json.dumps(document, indent=2) if options.json else _tables(document))
    return 0


async def _measured(url: str, quick: bool) -> dict[str, Any]:
    database = await Database.open(url)
    document = {"ingest": await _ingest(database, _QUICK_SPANS if quick else _SPANS)}
    await _fill_log(database, _QUICK_LOGS if quick else _LOGS)
    document["answers_ms"] = await _answers(database)
    await database.close()
    return document


async def _ingest(database: Database, spans: int) -> dict[str, float]:
    ingestor, requests = Ingestor(database), _requests()
    taken = cpu_s = wall_s = 0.0
    while taken < spans:
        bodies = [next(requests) for _ in range(min(_STEP, -(-(spans - int(taken)) // BATCH)))]
        waiting = asyncio.Semaphore(SENDERS)

        async def send(body: bytes, waiting: asyncio.Semaphore = waiting) -> None:
            async with waiting:
                await ingestor.take("traces", body, content_type="application/x-protobuf", content_encoding="gzip")

        cpu, wall = time.process_time(), time.perf_counter()
        await asyncio.gather(*map(send, bodies))
        cpu_s, wall_s = cpu_s + time.process_time() - cpu, wall_s + time.perf_counter() - wall
        taken += len(bodies) * BATCH
        tell(f"{taken:.0f} spans, {taken / cpu_s:.0f} per CPU second")
    await ingestor.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"spans": taken, "per_cpu_s": taken / cpu_s, "per_s": taken / wall_s, "peak_mb": peak}


def _requests() -> Iterator[bytes]:
    """Requests as an exporter sends them, with whole runs that are cut where a batch ends."""
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
    start_ns = _START_NS + number * 3_000_000
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


async def _fill_log(database: Database, rows: int) -> None:
    draw = random.Random(1)
    for first in range(0, rows, 10_000):
        entries = [
            ExecutionEntry(
                log_id=str(number),
                tenant_id=f"tenant-{number % 20}",
                event_type="tool.execute.pre",
                time_ns=_START_NS + number * 10**9,
                results=(Execution(f"hook-{number % 20}", duration_ns=int(draw.lognormvariate(13, 2))),),
            )
            for number in range(first, first + 10_000)
        ]
        await record_executions(database, entries)
    tell(f"{rows} entries of the execution log")


async def _answers(database: Database) -> dict[str, float]:
    [first, *_] = (await runs_page(database, None, RunFilter())).rows
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        **{f"runs: {name}": lambda given=given: runs_page(database, None, given) for name, given in FILTERS.items()},
        "runs of a tenant": lambda: runs_page(database, "tenant-3", RunFilter()),
        "one run": lambda: run_detail(database, None, first.id),
        "usage by day and model": lambda: usage_by(database, None, ("day", "model")),
        "usage by user": lambda: usage_by(database, None, ("user_id",)),
        "statistics of hooks": lambda: hook_figures(database, None),
    }
    found: dict[str, float] = {}
    for name, ask in asked.items():
        took: list[float] = []
        for _ in range(5):
            start = time.perf_counter()
            await ask()
            took.append((time.perf_counter() - start) * 1000)
        found[name] = sorted(took)[2]
    return found


def _tables(document: dict[str, Any]) -> str:
    taken = document["ingest"]
    rows = [(f"{taken['spans']:.0f}", f"{taken['per_cpu_s']:.0f}", f"{taken['per_s']:.0f}", f"{taken['peak_mb']:.0f}")]
    answers = [(name, f"{took:.1f}", "") for name, took in document["answers_ms"].items()]
    return "\n\n".join(
        (
            "## Taking in: protobuf, gzip, batches of 512, runs and usage derived",
            table(("spans", "per CPU s", "per s", "peak MB"), rows),
            "## Answers: the median of five",
            table(("question", "ms", ""), answers),
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
