"""A provider that spanhook run creates has one span for each call, whatever libraries open themselves."""

import asyncio
import inspect
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanhook
from spanhook import Settings
from spanhook.cli.conformance.servers.anthropic_server import AnthropicServer
from spanhook.engine import bound_libraries
from spanhook.export._tracers import LeanProvider
from spanhook.instrument import INSTRUMENTORS

ANTHROPIC, MCP = "com.anthropic.sdk.python", "mcp-python-sdk"


@dataclass
class Exported:
    """A provider as ``spanhook run`` creates it, and what it has exported."""

    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)
    provider: LeanProvider = field(default_factory=LeanProvider)

    def __post_init__(self) -> None:
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def tree(self) -> dict[str, str]:
        """The parent's name, by the name of each span."""
        spans: dict[int, ReadableSpan] = {
            one.context.span_id: one for one in self.exporter.get_finished_spans() if one.context
        }
        return {one.name: spans[one.parent.span_id].name if one.parent else "" for one in spans.values()}


@pytest.fixture
def exported() -> Generator[Exported]:
    made = Exported()
    yield made
    spanhook.uninstrument()
    made.provider.shutdown()


def test_a_span_of_a_library_is_left_out_and_its_parent_takes_its_place(exported: Exported) -> None:
    spanhook.instrument(tracer_provider=exported.provider)
    library, other = exported.provider.get_tracer(ANTHROPIC), exported.provider.get_tracer("acme")
    with spanhook.operation("agent.invoke", "desk"):
        with library.start_as_current_span("messages", attributes={"gen_ai.operation.name": "chat"}) as double:
            with other.start_as_current_span("POST"):
                pass
            with spanhook.operation("tool.execute", "search"), library.start_as_current_span("upload"):
                pass
        assert not double.is_recording()
        double.set_attribute("gen_ai.usage.input_tokens", 1)
        double.end()
    assert exported.tree == {
        "invoke_agent desk": "",
        "POST": "invoke_agent desk",
        "execute_tool search": "invoke_agent desk",
        "upload": "execute_tool search",
    }


@pytest.mark.parametrize("name", ["chat", "execute_tool add", "call_llm", "tools/call add"])
def test_a_name_tells_what_attributes_only_tell_later(
    name: str, exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("agent_framework", "anthropic", "google_adk", "mcp", "strands"):  # as if all were installed
        monkeypatch.setitem(bound_libraries, library, INSTRUMENTORS[library])
    for scope in (ANTHROPIC, MCP, "strands.telemetry.tracer", "gcp.vertex.agent", "agent_framework", "acme"):
        exported.provider.get_tracer(scope).start_span(name).end()
    scopes = [one.instrumentation_scope for one in exported.exporter.get_finished_spans()]
    assert [scope.name for scope in scopes if scope is not None] == ["acme"]


def test_all_are_exported_where_the_settings_or_nothing_bound_want_it(exported: Exported) -> None:
    tracer = exported.provider.get_tracer(ANTHROPIC)
    tracer.start_span("chat").end()  # nothing is bound yet
    spanhook.instrument(tracer_provider=exported.provider, settings=Settings(library_spans=True))
    tracer.start_span("chat").end()
    spanhook.instrument(settings=Settings())
    tracer.start_span("chat").end()
    spanhook.uninstrument()
    tracer.start_span("chat").end()
    assert len(exported.exporter.get_finished_spans()) == 3


def test_a_span_without_a_parent_leaves_a_root(exported: Exported) -> None:
    spanhook.instrument(tracer_provider=exported.provider)
    with exported.provider.get_tracer(ANTHROPIC).start_as_current_span("chat"), spanhook.operation("tool.execute", "a"):
        pass
    assert exported.tree == {"execute_tool a": ""}


@pytest.mark.parametrize("library_spans", [False, True])
def test_anthropics_sdk(library_spans: bool, exported: Exported) -> None:
    anthropic = pytest.importorskip("anthropic")
    has_spans = "open_telemetry" in inspect.signature(anthropic.Anthropic).parameters  # its oldest version has none
    options: dict[str, Any] = {"open_telemetry": {"tracer_provider": exported.provider}} if has_spans else {}
    spanhook.instrument(tracer_provider=exported.provider, settings=Settings(library_spans=library_spans))
    with AnthropicServer() as server, anthropic.Anthropic(base_url=server.url, api_key="test", **options) as client:
        client.messages.create(model="claude-x", max_tokens=9, messages=[{"role": "user", "content": "hello"}])
    counted = [
        one for one in exported.exporter.get_finished_spans() if "gen_ai.usage.input_tokens" in (one.attributes or {})
    ]
    assert len(counted) == 1 + (has_spans and library_spans)


@pytest.mark.slow
def test_the_sdk_of_mcp(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> None:
    otel: Any = pytest.importorskip("mcp.shared._otel")
    monkeypatch.setattr(otel, "_tracer", exported.provider.get_tracer(MCP))
    from mcp import Client
    from mcp.server import MCPServer

    server: Any = MCPServer("sums")

    @server.tool()
    def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        return a + b

    async def call() -> None:
        async with Client(server) as client:
            await client.call_tool("add", {"a": 1, "b": 2})

    spanhook.instrument(tracer_provider=exported.provider)
    asyncio.run(call())
    named = [(one.name, one.instrumentation_scope) for one in exported.exporter.get_finished_spans()]
    calls = [scope.name for name, scope in named if name == "tools/call add" and scope is not None]
    assert calls == ["spanhook", "spanhook"]  # the client's and the server's
    assert MCP in {scope.name for _, scope in named if scope is not None}  # what is no operation, such as tools/list
