"""What cannot be told costs nothing else, and is counted: the metric says how many items are not kept, and where."""

import sys
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from opentelemetry.sdk._logs import LogRecordProcessor
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor

from spanhook import Hooks, Operation, Reject, semconv
from spanhook.concurrency.threads import Reaper
from spanhook.diagnostics import internal
from spanhook.testing import Recorder
from tests.stub import Library, stubbed


@contextmanager
def tolerated(hooks: Hooks | None = None) -> Generator[tuple[Library, Recorder], None, None]:
    """The stub's library, with errors of spanhook's own code counted rather than raised."""
    with stubbed(hooks) as (library, seen):
        internal.fatal = False
        yield library, seen
        internal.renew()


def lost(seen: Recorder) -> dict[str, int]:
    found = seen.metrics().get(semconv.METRIC_DROPPED, [])
    return {attributes[semconv.COMPONENT]: value for attributes, value in found}


class Faulty(LogRecordProcessor):
    """Takes no event of this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def on_emit(self, log_record: Any) -> None:
        if log_record.log_record.event_name == self._name:
            raise ConnectionError("no")

    def shutdown(self) -> None: ...

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


class Full(SpanProcessor):
    """Takes no span."""

    def on_end(self, span: ReadableSpan) -> None:
        raise OSError("full")


def test_nothing_is_lost_where_nothing_fails() -> None:
    with tolerated() as (library, seen):
        library.work("x")
        assert "".join(library.words("abc")) == "abc"
        assert lost(seen) == {}


def test_events_that_cannot_be_emitted_cost_no_other() -> None:
    hooks = Hooks()

    @hooks.before("llm.call", name="gate")
    def gate(op: Operation) -> None:
        raise Reject("no")

    with tolerated(hooks) as (library, seen):
        seen.logger_provider.add_log_record_processor(Faulty(semconv.EVENT_DECISION))
        for _ in range(3):
            with pytest.raises(Reject):
                library.work("x")
        assert lost(seen) == {"report.event": 3}
        assert Counter(event["name"] for event in seen.events)[semconv.EVENT_RUN] == 3
        assert [span.status.description for span in seen.spans] == ["no"] * 3
        assert sum(count for _, (_, count) in seen.metrics()[semconv.METRIC_RUN_LLM_CALLS]) == 3


def test_a_span_that_its_processor_does_not_take() -> None:
    with tolerated() as (library, seen):
        seen.tracer_provider.add_span_processor(Full())
        assert library.work("x") == "x"
        assert lost(seen) == {"report": 1}
        assert [event["name"] for event in seen.events] == [semconv.EVENT_RUN]


def test_a_span_of_others_that_cannot_be_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_attributes: Any) -> None:
        raise ValueError("cannot be read")

    monkeypatch.setattr("spanhook.engine._foreign_operations.usage_of", broken)
    with tolerated() as (_, seen):
        tracer = seen.tracer_provider.get_tracer("opentelemetry.instrumentation.somebody")
        with tracer.start_as_current_span("theirs", attributes={"gen_ai.operation.name": "chat"}) as span:
            span.set_attributes({"gen_ai.usage.input_tokens": 20, "gen_ai.usage.output_tokens": 8})
        assert lost(seen) == {"processor": 1}


@pytest.mark.slow
def test_what_a_process_leaves_unfinished_when_it_exits() -> None:
    reaper, held, begun = Reaper(), threading.Event(), threading.Event()

    def hung() -> None:
        begun.set()
        held.wait()

    reaper.start()
    for _ in range(3):
        reaper.put((hung,))
    begun.wait()
    try:
        reaper.leave(0.01)
        assert internal.lost == {"reaper": 3}
    finally:
        held.set()
        reaper.drain()
        internal.renew()


def test_an_end_that_fails_is_an_operation_lost() -> None:
    reaper = Reaper()
    internal.fatal = False

    def failed() -> None:
        raise KeyError("no")

    def late() -> None:
        raise TimeoutError

    reaper.start()
    reaper.put((failed,))
    reaper.put((late,))
    assert reaper.drain()
    assert internal.counts == {"reaper": 2}
    assert internal.lost == {"reaper": 1}
    internal.renew()


def test_a_span_that_is_completed_elsewhere_while_it_is_reported_loses_nothing() -> None:
    """As by a hook in shadow, which has threads of its own."""
    spans: list[Any] = []

    def complete(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and frame.f_code.co_name == "used_itself":
            spans[0].set_attribute("mine", 1)

    hooks = Hooks()
    hooks.before("llm.call")(lambda op: spans.append(op.span))
    with stubbed(hooks) as (library, seen):
        sys.setprofile(complete)
        try:
            library.work("given")
        finally:
            sys.setprofile(None)
        (span,) = seen.spans
        assert span.attributes is not None
        told = {name: span.attributes.get(name) for name in ("mine", semconv.STATUS, semconv.GEN_AI_USAGE_INPUT_TOKENS)}
        assert told == {"mine": 1, semconv.STATUS: "success", semconv.GEN_AI_USAGE_INPUT_TOKENS: 10}
