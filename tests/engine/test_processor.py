"""Spans that other instrumentations open: hooks hear of them, and gate as far as they are let."""

import threading
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body
from spanhook.diagnostics import internal
from spanhook.engine.processor import ForeignSpans, attach, processors_of
from spanhook.testing import recorder

CHAT: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "x"}
KINDS: dict[str, dict[str, Any]] = {
    "llm.call": CHAT,
    "tool.execute": {"openinference.span.kind": "TOOL"},
    "agent.invoke": {"traceloop.span.kind": "agent"},
}


def refusing(*kinds: str) -> Hooks:
    hooks = Hooks()

    @hooks.before(*kinds, name="refuse")
    def refuse(op: Operation) -> None:
        raise Reject("no", status_code=402)

    return hooks


class Seeing(SpanProcessor):
    """Notes which spans it saw start and end."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        assert span.is_recording()
        self.seen.append("start")

    def on_end(self, span: ReadableSpan) -> None:
        self.seen.append("end")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_one_is_ended_once_every_processor_has_seen_it(kind: str) -> None:
    ran: list[str] = []
    with recorder(refusing(kind)) as seen:
        late = Seeing()
        seen.tracer_provider.add_span_processor(late)
        tracer = seen.tracer_provider.get_tracer("opentelemetry.instrumentation.somebody")
        with (
            pytest.raises(Reject, match="no") as caught,
            tracer.start_as_current_span("theirs", attributes=KINDS[kind]),
        ):
            ran.append("body")
        [span] = seen.spans
        decisions = [event for event in seen.events if event["name"] == "spanhook.decision"]
    assert caught.value.status_code == 402
    assert ran == []
    assert late.seen == ["start", "end"]
    assert span.status.status_code.name == "ERROR"
    attributes = span.attributes or {}
    assert attributes["spanhook.decision"] == "attempted"
    assert attributes["spanhook.coverage"] == "best_effort"
    assert [op.status for op in seen.operations] == ["error"]
    assert len(decisions) == 1


def test_hooks_hear_of_the_start_and_of_the_end_and_usage_is_counted() -> None:
    hooks, heard = Hooks(), list[Any]()
    hooks.before("llm.call")(lambda op: heard.append(("before", op.model)))
    hooks.after("llm.call")(lambda op: heard.append(("after", op.usage.total_tokens)))
    hooks.on_error("llm.call")(lambda op: heard.append(("error", str(op.error))))
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("opentelemetry.instrumentation.somebody")
        with tracer.start_as_current_span("theirs", attributes=CHAT) as span:
            span.set_attributes({"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 8})
        with pytest.raises(KeyError), tracer.start_as_current_span("theirs", attributes=CHAT):
            raise KeyError("theirs")
        with tracer.start_as_current_span("no operation"):
            pass
        tokens = sum(value for _, value in seen.metrics()["spanhook.usage.tokens"])
    assert heard[:3] == [("before", "gpt-4o"), ("after", 28), ("before", "gpt-4o")]
    assert heard[3][0] == "error"
    assert tokens == 28
    assert len(seen.spans) == 3


def test_a_call_that_is_an_operation_already_is_not_another() -> None:
    """Another instrumentation of a library that is bound describes the same calls."""
    passes: list[str] = []
    hooks = Hooks()
    hooks.before("*")(lambda op: passes.append(op.kind))
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("opentelemetry.instrumentation.langchain")
        with tracer.start_as_current_span("double", attributes=CHAT):
            ScriptedChat(body=Body()).invoke("hi")
        assert passes == ["llm.call"]
        assert sum(value for _, value in seen.metrics()["spanhook.usage.tokens"]) == 28
    assert [op._record.foreign for op in seen.operations] == [False]


def test_a_hook_on_a_provider_hears_of_them_with_nothing_instrumented() -> None:
    class Refuse(Hook):
        kinds = ("tool.execute",)

        def before(self, op: Operation) -> None:
            raise Reject("no")

    spans = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    provider.add_span_processor(Refuse())
    tracer = provider.get_tracer("opentelemetry.instrumentation.somebody")
    with pytest.raises(Reject), tracer.start_as_current_span("theirs", attributes=KINDS["tool.execute"]):
        pass
    with tracer.start_as_current_span("theirs", attributes=CHAT):
        pass
    assert [span.status.status_code.name for span in spans.get_finished_spans()] == ["ERROR", "UNSET"]


def test_a_retrieval_is_known_by_what_it_searches() -> None:
    hooks, heard = Hooks(), list[str]()
    hooks.before("retrieval.query", names={"KB1"})(lambda op: heard.append(op.name))
    told = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "KB1"}
    with recorder(hooks) as seen:
        tracer = seen.tracer_provider.get_tracer("opentelemetry.instrumentation.somebody")
        with tracer.start_as_current_span("theirs", attributes=told):
            pass
        [span] = seen.spans
    assert heard == ["KB1"]
    assert "spanhook.retriever.name" not in (span.attributes or {})


@pytest.mark.every_value
@pytest.mark.one_value
@pytest.mark.parametrize("fails", [False, True])
def test_a_provider_that_another_thread_attaches_is_attached_when_the_call_returns(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    class Slow(TracerProvider):
        def add_span_processor(self, span_processor: SpanProcessor) -> None:
            if not reached.is_set():
                reached.set()
                go_on.wait(60)
                if fails:
                    raise ValueError("not now")
            super().add_span_processor(span_processor)

    def second() -> None:
        attach(provider)
        found.append(len(processors_of(provider)))

    monkeypatch.setattr(internal, "report", lambda *_args, **_more: None)
    provider, found = Slow(), list[int]()
    threads = [threading.Thread(target=attach, args=(provider,)), threading.Thread(target=second)]
    threads[0].start()
    assert reached.wait(60)
    threads[1].start()
    threads[1].join(0.2)  # it waits for the first one
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert found == [1]


def test_a_provider_that_takes_no_processor_is_attached_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal, "fatal", False)

    class Closed(TracerProvider):
        open = False

        def add_span_processor(self, span_processor: SpanProcessor) -> None:
            if not self.open:
                raise RuntimeError("not now")
            super().add_span_processor(span_processor)

    provider = Closed()
    attach(provider)
    assert not processors_of(provider)
    provider.open = True
    attach(provider)
    attach(provider)
    assert [type(one) for one in processors_of(provider)] == [ForeignSpans]
