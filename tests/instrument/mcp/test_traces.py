"""One trace over both sides, and one tool in what is counted."""

import json
import os
import subprocess
import sys
from typing import Any

import anyio
import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import format_span_id, format_trace_id

import spanhook
from spanhook import Hooks, Operation
from spanhook.cli.conformance.libraries.mcp_servers import http as http_server
from spanhook.cli.conformance.libraries.mcp_servers import memory
from spanhook.cli.conformance.libraries.mcp_versions import FIRST, as_json, as_message, session_over, streams, wrapped
from spanhook.cli.conformance.servers.mcp_server import TOOL, answer
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from tests.instrument.mcp.parts import LEAKS, TYPES, Shop, asked, connected, greeted, run, said

pytestmark = LEAKS

TRACE, SPAN = "11111111111111111111111111111111", "2222222222222222"
SENT = {"traceparent": f"00-{TRACE}-{SPAN}-01"}

# ----------------------------------------------------------------------------------------------- one process


def _both(hooks: Hooks | None = None, **options: Any) -> Any:
    """A tool that asks a model, called in an agent's run by a client of the same process."""

    async def main() -> None:
        async with connected(Shop()) as session, spanhook.operation("agent.invoke", "Bo"):
            assert said(await session.call_tool("summarize", {"query": "x"})) == "short"

    with recorder(hooks, **options) as seen:
        run(main)
        return seen.operations, seen.spans, seen.metrics()


def test_a_client_and_its_server_are_two_operations_of_one_run() -> None:
    operations, spans, _ = _both()
    assert [(op.kind, op.name, op.parent and op.parent.kind) for op in operations] == [
        ("llm.call", "m", "tool.execute"),
        ("tool.execute", "summarize", "tool.execute"),
        ("tool.execute", "summarize", "agent.invoke"),
        ("agent.invoke", "Bo", None),
    ]
    assert len({op.identity.run_id for op in operations}) == 1
    assert len({span.get_span_context().trace_id for span in spans}) == 1
    by_id = {span.get_span_context().span_id: span for span in spans}
    chain = [by_id[span.parent.span_id].name if span.parent else None for span in spans]
    assert chain == ["tools/call summarize", "tools/call summarize", "invoke_agent Bo", None]
    assert [str(span.kind).partition(".")[2] for span in spans] == ["CLIENT", "SERVER", "CLIENT", "INTERNAL"]


@pytest.mark.parametrize("options", [{}, {"sampler": ALWAYS_OFF}], ids=["sampled", "unsampled"])
def test_totals_and_metrics_count_one_tool(options: Any) -> None:
    operations, spans, metrics = _both(**options)
    agent, client, server = operations[-1], operations[-2], operations[-3]
    assert (agent.usage.tool_calls, dict(agent.usage.tools)) == (1, {"summarize": 1})
    assert (client.usage.tool_calls, client.usage.input_tokens) == (1, 5)
    assert (server.usage.input_tokens, agent.usage.input_tokens, agent.usage.llm_calls) == (5, 5, 1)
    assert bool(spans) is not bool(options)
    counts = {name: sum(value[1] for _, value in found) for name, found in metrics.items() if "duration" in name}
    assert counts["gen_ai.execute_tool.duration"] == 1
    assert counts["mcp.client.operation.duration"] == counts["mcp.server.operation.duration"] == 1


def test_budgets_of_tools_count_one() -> None:
    seen_by_hook = list[int]()
    hooks = Hooks()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        seen_by_hook.append(op.root.usage.tool_calls)

    async def main() -> None:
        async with connected(Shop()) as session, spanhook.operation("agent.invoke", "Bo"):
            for query in ("a", "b"):
                await session.call_tool("search", {"query": query})

    with recorder(hooks) as seen:
        run(main)
        assert seen.operations[-1].usage.tool_calls == 2
    assert seen_by_hook == [0, 0, 1, 1]


_DISABLED = """
import anyio, spanhook
from spanhook import Hooks
from tests.instrument.mcp.parts import Shop, connected
hooks, told = Hooks(), []
hooks.after("*")(lambda op: told.append((op.kind, op.parent and op.parent.kind, op.usage.tool_calls)))
spanhook.instrument(hooks)
async def main():
    async with connected(Shop()) as session, spanhook.operation("agent.invoke", "Bo"):
        await session.call_tool("search", {"query": "x"})
anyio.run(main)
print(told)
"""


def test_with_the_sdk_of_opentelemetry_switched_off() -> None:
    environment = {**os.environ, "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run(
        [sys.executable, "-c", _DISABLED], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(
        [
            ("tool.execute", "tool.execute", 1),
            ("tool.execute", "agent.invoke", 1),
            ("agent.invoke", None, 1),
        ]
    )


def test_requests_at_a_time_each_have_their_own_parent() -> None:
    async def one(session: Any, number: int) -> None:
        async with spanhook.operation("agent.invoke", f"a{number}"):
            await session.call_tool("search", {"query": str(number)})

    async def main() -> None:
        async with connected(Shop()) as session, anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, session, number)

    with recorder() as seen:
        run(main)
        agents = [op for op in seen.operations if op.kind == "agent.invoke"]
        assert sorted(op.usage.tool_calls for op in agents) == [1] * 20
        assert len({op.identity.run_id for op in seen.operations}) == 20


# ----------------------------------------------------------------------------------------------- the server


def _served(meta: Any, *, over: Any = memory) -> tuple[Any, Any]:
    """One request for a tool, and one for nothing in particular, from elsewhere."""
    hooks, told = Hooks(), list[Any]()

    @hooks.before("tool.execute")
    def look(op: Operation) -> None:
        told.append((baggage.get_baggage("tenant"), op.extras["metadata"]))

    async def main() -> None:
        async with over(Shop().server) as exchange:
            await greeted(exchange)
            call: dict[str, Any] = {"name": "summarize", "arguments": {"query": "x"}}
            if meta is not None:
                call["_meta"] = meta
            found = await asked(exchange, "tools/call", **call)
            assert found["result"]["isError"] is False, found

    with recorder(hooks) as seen:
        run(main)
        return seen, told


@pytest.mark.parametrize("over", [memory, http_server(stateless=False)], ids=["memory", "http"])
def test_a_request_from_elsewhere_continues_its_trace(over: Any) -> None:
    seen, _ = _served({**SENT, "progressToken": 7}, over=over)
    model, tool = seen.spans[-2:]
    assert format_trace_id(tool.get_span_context().trace_id) == TRACE
    assert format_span_id(tool.parent.span_id) == SPAN
    assert tool.parent.is_remote
    assert model.parent.span_id == tool.get_span_context().span_id
    _, served = seen.operations[-2:]
    assert served.parent is None
    assert served.usage.tool_calls == 1


def test_baggage_comes_with_a_request() -> None:
    _, told = _served({**SENT, "baggage": "tenant=acme"})
    assert [one for one, _ in told] == ["acme"]


@pytest.mark.parametrize(
    "meta",
    [None, {}, {"traceparent": "nonsense"}, {"traceparent": 7}, {"traceparent": None}, {"traceparent": ["a"]}],
    ids=str,
)
def test_what_is_no_trace_context_is_passed_over(meta: Any) -> None:
    seen, _ = _served(meta)
    tool = seen.spans[-1]
    assert tool.parent is None
    assert seen.operations[-1].status == "success"


def test_nothing_of_a_request_stays_behind() -> None:
    """Requests over one connection are no part of one another, nor of what the connection was opened in."""

    async def main() -> None:
        async with spanhook.operation("agent.invoke", "owner"), memory(Shop().server) as exchange:
            await greeted(exchange)
            for number in (101, 102):
                sent = {"traceparent": f"00-{number:032x}-{SPAN}-01"}
                await asked(exchange, "tools/call", number, name="search", arguments={"query": "x"}, _meta=sent)

    with recorder() as seen:
        run(main)
        first, second, owner = seen.operations
        assert (first.parent, second.parent, len({op.identity.run_id for op in (first, second, owner)})) == (
            None,
            None,
            3,
        )
        assert [span.context and span.context.trace_id for span in seen.spans[:2]] == [101, 102]
        assert owner.usage.tool_calls == 0


# ----------------------------------------------------------------------------------------------- the client


def _sent(ask: Any, hooks: Hooks | None = None, **options: Any) -> tuple[list[dict[str, Any]], Any]:
    """What a client sends of requests that are operations, as it is on the wire."""
    told = list[dict[str, Any]]()

    async def serve(read: Any, write: Any) -> None:
        async for message in read:
            found = as_json(message)
            if found["method"] in ("tools/call", "resources/read", "prompts/get"):
                told.append(found["params"])
            back = answer(found, Body())
            if back is not None:
                await write.send(as_message(back))

    async def main() -> None:
        async with streams() as (client, server), anyio.create_task_group() as tasks:
            tasks.start_soon(serve, *server)
            async with session_over(*client) as session:
                await ask(session)
            tasks.cancel_scope.cancel()

    with recorder(hooks, **options) as seen:
        run(main)
        return told, seen


def _carrier(span: Any) -> str:
    found = span.get_span_context()
    return f"00-{format_trace_id(found.trace_id)}-{format_span_id(found.span_id)}-01"


def test_every_request_carries_the_context_of_its_span() -> None:
    async def ask(session: Any) -> None:
        await session.call_tool(TOOL, {"query": "x"})
        await session.get_prompt("greet", {"name": "x"})
        await session.read_resource("doc://readme")

    told, seen = _sent(ask)
    assert len(told) == 3
    ours = [_carrier(span) for span in seen.spans if "mcp.method.name" in (span.attributes or {})]
    assert [one["_meta"]["traceparent"] for one in told] == ours


def test_baggage_is_sent_too() -> None:
    async def ask(session: Any) -> None:
        token = context.attach(baggage.set_baggage("tenant", "acme"))
        try:
            await session.call_tool(TOOL, {"query": "x"})
        finally:
            context.detach(token)

    told, _ = _sent(ask)
    assert told[0]["_meta"]["baggage"] == "tenant=acme"


def test_what_a_caller_puts_in_meta_stays_and_the_caller_s_request_is_left_as_it_is() -> None:
    given = {"progressToken": 3, "acme/key": {"a": 1}}
    kept = list[Any]()

    async def ask(session: Any) -> None:
        params = TYPES.CallToolRequestParams.model_validate({"name": TOOL, "arguments": {}, "_meta": given})
        before = params.model_dump_json(by_alias=True)
        request = TYPES.CallToolRequest(params=params)
        await session.send_request(wrapped(request), TYPES.CallToolResult)
        kept.append((before, params.model_dump_json(by_alias=True)))

    told, seen = _sent(ask)
    sent = told[0]["_meta"]
    assert sent.pop("traceparent") == _carrier(seen.spans[-1])
    assert sent == given
    assert kept[0][0] == kept[0][1]


def test_a_client_of_a_run_that_is_not_sampled_says_so() -> None:
    async def ask(session: Any) -> None:
        await session.call_tool(TOOL, {"query": "x"})

    told, _ = _sent(ask, sampler=ALWAYS_OFF)
    assert told[0]["_meta"]["traceparent"].endswith("-00")


def test_hooks_read_nothing_of_the_trace_context() -> None:
    """What is added to a request is no argument of the tool."""
    hooks, told = Hooks(), list[str]()
    hooks.before("tool.execute")(lambda op: told.append(json.dumps(dict(op.request.arguments))))

    async def ask(session: Any) -> None:
        await session.call_tool(TOOL, {"query": "x"})

    sent, _ = _sent(ask, hooks)
    assert told == ['{"query": "x"}']
    assert sent[0]["arguments"] == {"query": "x"}


# ----------------------------------------------------------------------------------------------- the SDK's spans

_SPANS = """
import anyio, json, spanhook
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.instrument.mcp.parts import Shop, connected
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
spanhook.instrument()
async def main():
    async with connected(Shop()) as session, spanhook.operation("agent.invoke", "Bo") as op:
        await session.call_tool("search", {"query": "x"})
        print(op.usage.tool_calls)
anyio.run(main)
spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
ours = [span for span in spans.values() if span.context.trace_id == list(spans.values())[-1].context.trace_id]
for span in ours:
    scope, above = span.instrumentation_scope.name.partition(".")[0], spans.get(span.parent and span.parent.span_id)
    print(scope, span.name, span.kind.name, "<", above and above.instrumentation_scope.name.partition(".")[0])
"""


def test_the_sdk_s_own_spans_are_in_the_same_trace() -> None:
    done = subprocess.run([sys.executable, "-c", _SPANS], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    counted, *lines = done.stdout.splitlines()
    assert counted == "1"
    ours = [line for line in lines if "tools/list" not in line]  # a client reads the schemas of results, once
    assert ours == (
        [
            "spanhook tools/call search SERVER < spanhook",
            "spanhook tools/call search CLIENT < spanhook",
            "spanhook invoke_agent Bo INTERNAL < None",
        ]
        if FIRST
        else [
            "mcp-python-sdk tools/call search SERVER < spanhook",
            "spanhook tools/call search SERVER < mcp-python-sdk",
            "mcp-python-sdk MCP send tools/call search CLIENT < spanhook",
            "spanhook tools/call search CLIENT < spanhook",
            "spanhook invoke_agent Bo INTERNAL < None",
        ]
    )
