"""The library's own hooks and spans beside spanhook's: each once."""

from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanhook import Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.strands_ways import ASK, tool, using
from spanhook.cli.conformance.subject import Body
from spanhook.testing import recorder
from strands.hooks import AfterInvocationEvent, AfterToolCallEvent, BeforeInvocationEvent, BeforeToolCallEvent


def heard(made: Any) -> list[str]:
    """The names of the library's events, as they happen."""
    events = list[str]()
    for kind in (BeforeInvocationEvent, BeforeToolCallEvent, AfterToolCallEvent, AfterInvocationEvent):
        made.hooks.add_callback(kind, lambda event: events.append(type(event).__name__))
    return events


ALL = ["BeforeInvocationEvent", "BeforeToolCallEvent", "AfterToolCallEvent", "AfterInvocationEvent"]


def test_its_hooks_run_once() -> None:
    made = using(tool)(Body())
    events = heard(made)
    with recorder(Hooks()):
        made(ASK)
    assert events == ALL


def test_its_hooks_are_told_of_a_refused_tool() -> None:
    made, hooks = using(tool)(Body()), Hooks()
    results = list[Any]()
    made.hooks.add_callback(AfterToolCallEvent, lambda event: results.append(event.result))
    events = heard(made)

    @hooks.before("tool.execute")
    def refuse(op: Operation) -> None:
        raise Reject("not today")

    with recorder(hooks):
        made(ASK)
    assert events == ALL
    assert [one["content"] for one in results] == [[{"text": "Error: not today"}]]


def test_its_spans_are_no_operations_of_their_own() -> None:
    exporter, counted, hooks = InMemorySpanExporter(), list[tuple[str, str | None]](), Hooks()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    @hooks.before("*")
    def count(op: Operation) -> None:
        counted.append((op.kind, op.name))

    with recorder(hooks):
        provider.add_span_processor(count)
        made = using(tool)(Body())
        made.tracer.tracer = provider.get_tracer("strands.telemetry.tracer")
        made(ASK)
    assert {one.name for one in exporter.get_finished_spans()} >= {"chat", "execute_tool look_up"}
    assert counted == [
        ("agent.invoke", "helper"),
        ("llm.call", "own"),
        ("tool.execute", "look_up"),
        ("llm.call", "own"),
    ]
