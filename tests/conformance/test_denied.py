"""Denied means denied, beyond what the grid shows: every form of hook, sampler, provider and thread."""

import asyncio
import gc
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import NoOpTracerProvider, StatusCode

import spanhook
from spanhook import Hook, Hooks, Operation, Reject
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.diagnostics import internal
from spanhook.testing import recorder
from tests.conformance.everything import CASES, ONCE, OVER_HTTP, SUBJECTS, named
from tests.conformance.tracing import ForeignProvider
from tests.thinning import a_fifth

Case = tuple[Subject, str]


def refuse_sync(op: Operation) -> None:
    raise Reject("no", status_code=402)


async def refuse_async(op: Operation) -> None:
    await asyncio.sleep(0)
    raise Reject("no", status_code=402)


def refuse_around(op: Operation) -> Any:
    raise Reject("no", status_code=402)
    yield


async def refuse_wrapping(op: Operation, call_next: Callable[[], Any]) -> Any:
    raise Reject("no", status_code=402)


REFUSALS = {
    "def": refuse_sync,
    "async": refuse_async,
    "blocking": refuse_sync,
    "generator": refuse_around,
    "wrapping": refuse_wrapping,
}


def often(all_of_them: Iterable[str], *always: str) -> list[Any]:
    """Those to run every way with always; the others where slow tests are run."""
    return [one if one in always else pytest.param(one, marks=pytest.mark.slow) for one in all_of_them]


def refusing(kind: str, form: str = "def") -> Hooks:
    hooks = Hooks()
    if form in ("generator", "wrapping"):
        hooks.around(kind, timeout=5.0, name="refuse")(REFUSALS[form])
    else:
        hooks.before(kind, timeout=5.0, blocking=form == "blocking", name="refuse")(REFUSALS[form])
    return hooks


def expect_refused(use: Callable[[], Any]) -> None:
    with pytest.raises(Reject, match="no") as caught:
        settle(use())
    assert caught.value.status_code == 402


def expect_told(subject: Subject, use: Callable[[], Any]) -> None:
    """Make a call that is refused: the refusal is raised, or the model is told."""
    if subject.raises:
        expect_refused(use)
        return
    with suppress(Reject):
        settle(use())


SAMPLERS: dict[str, Sampler] = {
    "always_on": ALWAYS_ON,
    "always_off": ALWAYS_OFF,
    "parent_off": ParentBased(ALWAYS_OFF),
    "ratio_0": TraceIdRatioBased(0.0),
    "ratio_half": ParentBased(TraceIdRatioBased(0.5)),
}


FORMS = [form for form in REFUSALS if form != "async"]  # the grid has async ones
SAMPLED = [name for name in SAMPLERS if name != "always_off"]


def by_turns() -> list[Any]:
    """Every way with every sampler and with every form of hook, but not with each of both together."""
    return [
        pytest.param(case, sampler, FORMS[(number + turn) % len(FORMS)], id=f"{named(case)}-{sampler}")
        for number, case in enumerate(CASES)
        for turn, sampler in enumerate(SAMPLED)
    ]


def test_turns_leave_nothing_out() -> None:
    assert len(SAMPLED) == len(FORMS)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "sampler", "form"), by_turns())
def test_every_way_under_every_sampler_with_every_form_of_hook(case: Case, sampler: str, form: str) -> None:
    subject, way = case
    body = Body()
    thing = subject.make(body)
    with recorder(refusing(subject.kind, form), sampler=SAMPLERS[sampler]) as seen:
        expect_told(subject, lambda: subject.ways[way](thing))
    assert body.runs == 0
    asked = [op for op in seen.operations if op.kind == subject.kind]
    refused = [op for op in asked if op.status == "rejected"]
    assert refused
    # Of calls made at the same time, one may be cancelled in its gate because another was refused.
    assert {op.status for op in asked} <= ({"rejected", "cancelled"} if way.startswith("abatch") else {"rejected"})
    decided = [event for event in seen.events if event["name"] == "spanhook.decision"]
    assert len(decided) == len(refused)
    spans = [(span, span.attributes or {}) for span in seen.spans]
    told = [
        span
        for span, attributes in spans
        if attributes["spanhook.kind"] == subject.kind and attributes["spanhook.status"] == "rejected"
    ]
    assert len(told) == len(refused) or sampler != "always_on"
    assert {span.status.status_code for span in told} <= {StatusCode.ERROR}
    decisions = [attributes["spanhook.decision"] for _, attributes in spans if "spanhook.decision" in attributes]
    assert decisions == ["reject"] * len(told)


PROVIDERS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "no-op": NoOpTracerProvider,
    "foreign": ForeignProvider,
}


def providers_by_turns() -> list[Any]:
    """Every way with one of the providers, which know nothing of ways."""
    turns = zip(CASES, cycle(PROVIDERS), strict=False)
    return [pytest.param(case, provider, id=f"{named(case)}-{provider}") for case, provider in turns]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "provider"), providers_by_turns())
def test_every_way_without_an_sdk(case: Case, provider: str) -> None:
    subject, way = case
    body = Body()
    thing = subject.make(body)
    spanhook.instrument(refusing(subject.kind), tracer_provider=PROVIDERS[provider]())
    expect_told(subject, lambda: subject.ways[way](thing))
    assert body.runs == 0


class Refuse(Hook):
    """A hook that is only ever added to a provider."""

    def before(self, op: Operation) -> None:
        raise Reject("no", status_code=402)


NEAREST = [pytest.param(one, marks=[pytest.mark.slow] if one in OVER_HTTP else []) for one in SUBJECTS]
"""All subjects, of which those over HTTP are for the slow tests."""


@pytest.mark.parametrize("subject", NEAREST, ids=lambda subject: subject.name)
@pytest.mark.parametrize("when", ["before instrument", "after instrument"])
def test_a_hook_that_is_only_added_to_a_provider(subject: Subject, when: str) -> None:
    body = Body()
    things = [subject.make(body) for _ in subject.ways]
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    if when == "before instrument":
        provider.add_span_processor(Refuse())
    spanhook.instrument(tracer_provider=provider)
    if when == "after instrument":
        provider.add_span_processor(Refuse())
    for way, thing in zip(subject.ways.values(), things, strict=True):
        expect_told(subject, lambda way=way, thing=thing: way(thing))
    assert body.runs == 0


def test_a_hook_on_a_provider_runs_once_although_the_provider_calls_it_too() -> None:
    body = Body()
    runs: list[str] = []

    class Count(Hook):
        def before(self, op: Operation) -> None:
            runs.append(op.kind)

    with recorder() as seen:
        hook = Count()
        seen.tracer_provider.add_span_processor(hook)
        seen.tracer_provider.add_span_processor(hook)
        SUBJECTS[0].make(body).invoke("hi")
    assert runs == ["llm.call"]


def test_shutting_the_provider_down_does_not_turn_gating_off() -> None:
    body = Body()
    thing = SUBJECTS[0].make(body)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Refuse())
    spanhook.instrument(tracer_provider=provider)
    provider.shutdown()
    expect_refused(lambda: thing.invoke("hi"))
    assert body.runs == 0


class DownExporter(SpanExporter):
    """An exporter whose backend is gone."""

    def export(self, spans: Any) -> SpanExportResult:
        raise ConnectionError("backend is down")


@pytest.mark.parametrize("subject", a_fifth(SUBJECTS), ids=lambda subject: subject.name)
def test_with_the_exporter_down(subject: Subject, caplog: pytest.LogCaptureFixture) -> None:
    body = Body()
    things = [subject.make(body) for _ in subject.ways]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(DownExporter()))
    provider.add_span_processor(SimpleSpanProcessor(DownExporter()))
    spanhook.instrument(refusing(subject.kind), tracer_provider=provider)
    for way, thing in zip(subject.ways.values(), things, strict=True):
        expect_told(subject, lambda way=way, thing=thing: way(thing))
    assert body.runs == 0
    provider.shutdown()


class BrokenProcessor(SpanProcessor):
    """Somebody else's processor that raises."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        raise RuntimeError("processor is broken")


def test_a_processor_that_raises_lets_nothing_through_and_breaks_nothing() -> None:
    body = Body()
    thing = SUBJECTS[0].make(body)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BrokenProcessor())
    internal.fatal = False
    hooks = refusing("llm.call")
    spanhook.instrument(hooks, tracer_provider=provider)
    expect_refused(lambda: thing.invoke("hi"))
    assert body.runs == 0
    for hook in hooks:
        hooks.remove(hook)
    assert thing.invoke("hi").content == "hello there friend"
    internal.renew()


@pytest.mark.skipif(not hasattr(BaseChatModel, "stream_events"), reason="LangChain 1.0 has no third version of events")
@pytest.mark.parametrize("form", REFUSALS)
def test_events_of_the_third_version(form: str) -> None:
    body = Body()
    model: Any = ScriptedChat(body=body)
    with recorder(refusing("llm.call", form)) as seen:
        expect_refused(lambda: list(model.stream_events("hi", version="v3")))
        expect_refused(lambda: model.stream_events("hi", version="v3").output)
        expect_refused(lambda: list(model.stream_events("hi", version="v3").text))
    assert body.runs == 0
    assert [op.status for op in seen.operations] == ["rejected"] * 3


@pytest.mark.parametrize("subject", a_fifth(SUBJECTS), ids=lambda subject: subject.name)
def test_every_subject_in_64_threads(subject: Subject) -> None:
    body = Body()
    things = [subject.make(body) for _ in range(64 if subject.name in ONCE else 1)]
    ways = list(subject.ways.values())
    start = threading.Barrier(64)

    def try_it(index: int) -> str:
        start.wait(60.0)
        try:
            result = settle(ways[index % len(ways)](things[index % len(things)]))
        except Reject as reject:
            return reject.reason
        return str(result) if subject.raises else "no"

    with recorder(refusing(subject.kind)) as seen, ThreadPoolExecutor(64) as pool:
        assert set(pool.map(try_it, range(64))) == {"no"}
        refused = len([op for op in seen.operations if op.kind == subject.kind])
        assert sum(value for _, value in seen.metrics()["spanhook.hook.decisions"]) == refused >= 64
    assert body.runs == 0


def test_in_64_threads() -> None:
    subject = SUBJECTS[0]
    body = Body()
    thing = subject.make(body)

    def try_it(_index: int) -> str:
        try:
            return thing.invoke("hi")
        except Reject as reject:
            return reject.reason

    with recorder(refusing(subject.kind)) as seen, ThreadPoolExecutor(64) as pool:
        assert set(pool.map(try_it, range(640))) == {"no"}
        assert [value for _, value in seen.metrics()["spanhook.hook.decisions"]] == [640]
    assert body.runs == 0
    assert len(seen.spans) == 640


def test_async_hooks_on_sync_calls_in_64_threads() -> None:
    subject = SUBJECTS[3]
    body = Body()
    thing = subject.make(body)

    def try_it(_index: int) -> str:
        try:
            return thing.invoke({"query": "x"})
        except Reject as reject:
            return reject.reason

    with recorder(refusing(subject.kind, "async")), ThreadPoolExecutor(64) as pool:
        assert set(pool.map(try_it, range(256))) == {"no"}
    assert body.runs == 0


def test_nothing_is_left_behind() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    body = Body()
    thing = SUBJECTS[0].make(body)
    hooks = refusing("llm.call")
    spanhook.instrument(hooks, tracer_provider=provider)

    def once() -> None:
        with pytest.raises(Reject):
            thing.invoke("hi")
        exporter.clear()

    for _ in range(50):
        once()
    gc.collect()
    before = sum(issubclass(type(one), Operation) for one in gc.get_objects())
    for _ in range(200):
        once()
    gc.collect()
    assert sum(issubclass(type(one), Operation) for one in gc.get_objects()) <= before
