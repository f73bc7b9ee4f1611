"""Lean spans are the SDK's spans: whatever is done to them, what is exported is the same."""

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import (
    ReadableSpan,
    SpanLimits,
    SpanProcessor,
    SynchronousMultiSpanProcessor,
    Tracer,
    TracerProvider,
)
from opentelemetry.sdk.trace import Span as SDKSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import (
    INVALID_SPAN,
    INVALID_SPAN_CONTEXT,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
)

from spanhook.telemetry import context_with
from spanhook.telemetry._lean_span import LeanSpan, fill
from spanhook.telemetry.spans import Opener
from spanhook.testing import FixedIds, fixed_clock

START = {"gen_ai.operation.name": "chat", "temperature": 0.5, "n": 3, "stream": True}
END = {"finish": ("stop", "length"), "tokens": 12}


class Opened:
    """Opens a span by the tracer or by an opener, on providers that are alike."""

    def __init__(self, lean: bool, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(id_generator=options.pop("ids", FixedIds()), shutdown_on_exit=False, **options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer: Any = self.provider.get_tracer("spanhook", "1")
        self.open: Callable[..., Any] = Opener(self.tracer).open if lean else self.tracer.start_span

    def exported(self) -> list[dict[str, Any]]:
        found = []
        for span in self.exporter.get_finished_spans():
            one = json.loads(span.to_json())
            scope = span.instrumentation_scope
            one.update(scope=scope.name if scope else None, dropped=span.dropped_attributes, resource=None)
            one["flags"] = span.context.trace_flags if span.context else None
            one.update(start_time=None, end_time=None)
            for event in one["events"]:
                event["timestamp"] = None
                event["attributes"].pop("exception.stacktrace", None)
            found.append(one)
        return found


def _error(span: Any) -> None:
    span.record_exception(ValueError("boom"))
    span.set_status(Status(StatusCode.ERROR, "boom"))


DEEDS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda span: None,
    "filled": lambda span: fill(span, dict(END)),
    "filled with what needs cleaning": lambda span: fill(span, {"list": ["a", "b"], "mixed": ("a", 1)}),
    "one attribute": lambda span: span.set_attribute("mine", "x"),
    "a bad attribute": lambda span: span.set_attribute("mine", object()),
    "attributes": lambda span: span.set_attributes({"mine": [1, 2], "n": 4}),
    "filled, then attribute": lambda span: (fill(span, dict(END)), span.set_attribute("mine", "x")),
    "attribute, then filled": lambda span: (span.set_attribute("mine", "x"), fill(span, dict(END))),
    "event": lambda span: span.add_event("mine", {"a": 1}),
    "error": _error,
    "status": lambda span: span.set_status(StatusCode.ERROR, "bad"),
    "renamed": lambda span: span.update_name("renamed"),
    "link": lambda span: span.add_link(SpanContext(7, 7, is_remote=False), {"a": 1}),
    "ended twice": lambda span: (span.end(), span.set_attribute("late", 1)),
    "left by an error": lambda span: span.__exit__(ValueError, ValueError("boom"), None),
}


@pytest.mark.every_value
@pytest.mark.parametrize("deed", DEEDS)
def test_what_is_exported_is_the_same(deed: str) -> None:
    found = []
    for lean in (False, True):
        opened = Opened(lean)
        with fixed_clock():
            span = opened.open("chat", Context(), SpanKind.CLIENT, dict(START))
            assert isinstance(span, SDKSpan)
            assert isinstance(span, LeanSpan) is lean
            DEEDS[deed](span)
            span.end()
            assert not span.is_recording()
        found.append(opened.exported())
    assert found[1] == found[0]
    assert len(found[0]) == 1


def test_the_first_deed_that_needs_more_completes_the_span() -> None:
    opened = Opened(True)
    span = opened.open("chat", Context(), SpanKind.CLIENT, dict(START))
    assert type(span) is LeanSpan
    fill(span, dict(END))
    assert type(span) is LeanSpan
    span.add_event("mine")
    assert type(span) is not LeanSpan
    assert dict(span.attributes or {}) == {**START, **END}
    with pytest.raises(AttributeError):
        _ = span.no_such_thing


class Odd(Sampler):
    """A sampler that adds attributes and a trace state, and records without sampling."""

    def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
        return SamplingResult(Decision.RECORD_ONLY, {"sampler": "odd"}, TraceState([("odd", "yes")]))

    def get_description(self) -> str:
        return "odd"


SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "on": lambda: ALWAYS_ON,
    "off": lambda: ALWAYS_OFF,
    "parent on": lambda: ParentBased(ALWAYS_ON),
    "parent off": lambda: ParentBased(ALWAYS_OFF),
    "ratio 0": lambda: TraceIdRatioBased(0.0),
    "ratio 1": lambda: ParentBased(TraceIdRatioBased(1.0)),
    "odd": Odd,
    "odd root": lambda: ParentBased(Odd()),
    "odd child": lambda: ParentBased(ALWAYS_ON, local_parent_sampled=ALWAYS_OFF),
    "odd remote child": lambda: ParentBased(ALWAYS_ON, remote_parent_sampled=ALWAYS_OFF),
}
STATE = TraceState([("a", "b")])
PARENTS: dict[str, SpanContext | None] = {
    "root": None,
    "sampled": SpanContext(5, 5, is_remote=False, trace_flags=TraceFlags(1), trace_state=STATE),
    "unsampled": SpanContext(5, 5, is_remote=False, trace_flags=TraceFlags(0)),
    "remote sampled": SpanContext(5, 5, is_remote=True, trace_flags=TraceFlags(1), trace_state=STATE),
    "remote random": SpanContext(5, 5, is_remote=True, trace_flags=TraceFlags(3)),
    "remote odd": SpanContext(5, 5, is_remote=True, trace_flags=TraceFlags(0x81)),
    "remote unsampled": SpanContext(5, 5, is_remote=True, trace_flags=TraceFlags(0)),
}


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_decision_is_the_samplers(sampler: str, parent: str) -> None:
    found = []
    for lean in (False, True):
        opened = Opened(lean, sampler=SAMPLERS[sampler]())
        context = PARENTS[parent]
        before = trace.set_span_in_context(NonRecordingSpan(context), Context()) if context else Context()
        span = opened.open("chat", before, SpanKind.CLIENT, dict(START))
        recording = span.is_recording()
        made = span.get_span_context()
        span.end()
        # what is inside of a trace that is not sampled may go without an id of its own
        identity = made if recording else (made.trace_id, made.trace_flags, made.is_valid)
        found.append((recording, identity, opened.exported()))
    assert found[1] == found[0]


def test_spans_that_continue_a_trace_of_another_process_are_lean() -> None:
    before = trace.set_span_in_context(NonRecordingSpan(PARENTS["remote sampled"] or INVALID_SPAN_CONTEXT), Context())
    assert type(Opened(True).open("chat", before, SpanKind.CLIENT, dict(START))) is LeanSpan


class Listening(SpanProcessor):
    """A processor that looks at spans when they start, as many do."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        span.set_attribute("listened", True)
        self.seen.append((span.name, dict(span.attributes)))


def test_where_somebody_listens_to_starts_the_tracer_opens_the_span() -> None:
    opened = Opened(True)
    assert type(opened.open("one", Context(), SpanKind.CLIENT, dict(START))) is LeanSpan
    listening = Listening()
    opened.provider.add_span_processor(listening)
    span = opened.open("two", Context(), SpanKind.CLIENT, dict(START))
    assert type(span) is not LeanSpan
    assert listening.seen == [("two", {**START, "listened": True})]


def test_limits_and_internal_metrics_turn_lean_spans_off(monkeypatch: pytest.MonkeyPatch) -> None:
    limited = Opened(True, span_limits=SpanLimits(max_span_attribute_length=3))
    assert type(limited.open("one", Context(), SpanKind.CLIENT, {"a": "long text"})) is not LeanSpan
    few = Opened(True, span_limits=SpanLimits(max_span_attributes=2))
    assert type(few.open("one", Context(), SpanKind.CLIENT, dict(START))) is not LeanSpan
    monkeypatch.setenv("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "true")
    assert type(Opened(True).open("one", Context(), SpanKind.CLIENT, dict(START))) is not LeanSpan


def test_foreign_tracers_are_used_as_they_are() -> None:
    from tests.conformance.tracing import ForeignProvider, ForeignSpan

    opener = Opener(ForeignProvider().get_tracer("x"))
    assert isinstance(opener.open("one", Context(), SpanKind.CLIENT, {}), ForeignSpan)


class OddIds(IdGenerator):
    def generate_span_id(self) -> int:
        return 0xABC

    def generate_trace_id(self) -> int:
        return 0xDEF


def test_ids_come_from_the_providers_generator() -> None:
    span = Opened(True, ids=OddIds()).open("one", Context(), SpanKind.CLIENT, {})
    assert (span.get_span_context().trace_id, span.get_span_context().span_id) == (0xDEF, 0xABC)


def test_a_batch_processor_takes_them() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    opener = Opener(provider.get_tracer("spanhook"))
    for number in range(10):
        span = opener.open(f"span {number}", Context(), SpanKind.CLIENT, dict(START))
        assert type(span) is LeanSpan
        span.end()
    provider.shutdown()
    assert len(exporter.get_finished_spans()) == 10
    assert all(isinstance(span, ReadableSpan) for span in exporter.get_finished_spans())


def test_otlp_encodes_them() -> None:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    encoded = []
    for lean in (False, True):
        opened = Opened(lean)
        with fixed_clock():
            span = opened.open("chat", Context(), SpanKind.CLIENT, dict(START))
            fill(span, dict(END))
            span.end()
        message = encode_spans(opened.exporter.get_finished_spans())
        one = message.resource_spans[0].scope_spans[0].spans[0]
        one.start_time_unix_nano = one.end_time_unix_nano = 0
        encoded.append(one)
    assert encoded[1] == encoded[0]


def test_a_span_in_the_context_is_found_there() -> None:
    span = Opened(True).open("chat", Context(), SpanKind.CLIENT, dict(START))
    token = otel_context.attach(context_with(span, otel_context.get_current()))
    try:
        assert trace.get_current_span() is span
    finally:
        otel_context.detach(token)


def test_the_sdk_here_is_one_whose_spans_can_be_lean() -> None:
    """Fails when a new SDK is built otherwise: everything still works then, but for more."""
    provider = TracerProvider(shutdown_on_exit=False)
    assert type(provider.get_tracer("x")) is Tracer
    assert Opener(provider.get_tracer("x"))._lean


def test_a_forked_child_has_the_resource_that_the_sdk_gives_it() -> None:
    opened = Opened(True)
    fresh = opened.provider.resource.merge(Resource({"service.instance.id": "child"}))
    opened.tracer.resource = fresh  # as the SDK does after a fork, from 1.40 on
    for complete in (False, True):
        span = opened.open("one", Context(), SpanKind.CLIENT, dict(START))
        if complete:
            span.add_event("more")
        span.end()
    assert [span.resource for span in opened.exporter.get_finished_spans()] == [fresh, fresh]


def test_a_tracer_that_is_turned_off_opens_no_spans() -> None:
    opened = Opened(True)
    opener = Opener(opened.provider.get_tracer("spanhook", "1"))
    opener._enabled = lambda: False
    opener.tracer.start_span = lambda *_args: INVALID_SPAN
    assert opener.open("one", Context(), SpanKind.CLIENT, {}) is INVALID_SPAN


def test_a_processor_in_place_of_the_sdks_own_hears_of_starts() -> None:
    class Heard(SynchronousMultiSpanProcessor):
        starts = 0

        def on_start(self, span: SDKSpan, parent_context: Context | None = None) -> None:
            self.starts += 1

    heard = Heard()
    Opened(True, active_span_processor=heard).open("one", Context(), SpanKind.CLIENT, {})
    assert heard.starts == 1


def test_what_a_sampler_adds_is_cleaned() -> None:
    class Adding(Sampler):
        def should_sample(self, *args: Any, **kwargs: Any) -> SamplingResult:
            return SamplingResult(Decision.RECORD_AND_SAMPLE, {"a": ["b"]})

        def get_description(self) -> str:
            return "adding"

    opened = Opened(True, sampler=Adding())
    opened.open("one", Context(), SpanKind.CLIENT, {}).end()
    assert dict(opened.exporter.get_finished_spans()[0].attributes or {}) == {"a": ("b",)}


@pytest.mark.slow
def test_threads_that_complete_a_span_lose_nothing() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            opened = Opened(True)
            span = opened.open("one", Context(), SpanKind.CLIENT, {})
            together = Barrier(4)

            def work(number: int, span: Any = span, together: Barrier = together) -> None:
                together.wait()
                span.set_attribute(f"thread {number}", True)

            with ThreadPoolExecutor(4) as pool:
                list(pool.map(work, range(4)))
            span.end()
            assert len(opened.exporter.get_finished_spans()[0].attributes or {}) == 4
    finally:
        sys.setswitchinterval(before)


def test_a_processor_that_edits_what_has_ended_is_given_the_sdks_own_span() -> None:
    class Masking(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            attributes: Any = span._attributes
            attributes._dict["gen_ai.operation.name"] = "***"

    masked = Opened(True)
    masked.provider._active_span_processor._span_processors = (
        Masking(),
        *masked.provider._active_span_processor._span_processors,
    )
    masked.open("one", Context(), SpanKind.CLIENT, dict(START)).end()
    [span] = masked.exporter.get_finished_spans()
    assert (span.attributes or {})["gen_ai.operation.name"] == "***"


def test_a_processor_that_was_given_methods_of_its_own_is_called() -> None:
    opened, called = Opened(True), list[str]()
    given = SpanProcessor()
    given.on_start = lambda span, parent_context=None: called.append(f"{span.name} starts")
    given.on_end = lambda span: called.append(f"{span.name} ends")
    opened.provider.add_span_processor(given)
    opened.open("one", Context(), SpanKind.CLIENT, dict(START)).end()
    assert called == ["one starts", "one ends"]
    assert [span.name for span in opened.exporter.get_finished_spans()] == ["one"]


@pytest.mark.parametrize("several", [False, True])
def test_an_ended_span_goes_to_every_processor_that_is_there_by_then(several: bool) -> None:
    opened, other = Opened(True), InMemorySpanExporter()
    if several:
        opened.provider.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    span = opened.open("one", Context(), SpanKind.CLIENT, dict(START))
    opened.provider.add_span_processor(SimpleSpanProcessor(other))  # while the span is open
    span.end()
    opened.open("two", Context(), SpanKind.CLIENT, dict(START)).end()
    for exporter in (opened.exporter, other):
        assert [span.name for span in exporter.get_finished_spans()] == ["one", "two"]
