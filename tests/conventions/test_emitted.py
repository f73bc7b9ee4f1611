"""Everything that is emitted, of every library and own code, against the facts of the conventions and the registry."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

import spanhook
from spanhook import Hooks, Operation, Reject, Settings, operation, semconv
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.cli.demo import model
from spanhook.cli.demo.agent import make
from spanhook.cli.demo.hooks import hooks as demo_hooks
from spanhook.cli.demo.scenes import SCENES
from spanhook.cli.load import measure
from spanhook.cli.load.hooks import hooks as load_hooks
from spanhook.semconv import KINDS
from spanhook.testing import Recorder, recorder
from tests.conformance.everything import SUBJECTS, TOLD
from tests.conventions.checking import Checker
from tests.thinning import a_fifth

SETS = {
    "": ("v1.41",),
    semconv.OPT_IN_NEWEST: ("newest",),
    f"http, {semconv.OPT_IN_BOTH}": ("v1.41", "newest"),
}

NEAR = ("chat", "graph", "openai chat", "anthropic messages", "embeddings")
"""Subjects that are tried with either set of names by default; the others, in slow tests."""


class Started(SpanProcessor):
    """Keeps the attributes that each span was started with."""

    def __init__(self) -> None:
        self.attributes: dict[int, dict[str, Any]] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.attributes[span.get_span_context().span_id] = dict(span.attributes or {})

    def of(self, span: ReadableSpan) -> dict[str, Any] | None:
        context = span.get_span_context()
        return None if context is None else self.attributes[context.span_id]


@contextmanager
def recorded(hooks: Hooks, settings: Settings | None = None) -> Generator[tuple[Recorder, Started]]:
    """``recorder``, with what spans were started with."""
    started = Started()
    with recorder(hooks, settings=settings) as seen:
        seen.tracer_provider.add_span_processor(started)
        yield seen, started


def found(checker: Checker, seen: Recorder, started: Started) -> list[str]:
    """What is wrong, each once."""
    return sorted(set(_found(checker, seen, started)))


def _found(checker: Checker, seen: Recorder, started: Started) -> Iterator[str]:
    for span in seen.spans:
        yield from checker.span(span, started.of(span))
    for one in seen._logs.get_finished_logs():
        yield from checker.event(one.log_record)
        yield from checker.schema(one.instrumentation_scope, "events")
    data = seen._reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            yield from checker.schema(scope.scope, "metrics")
            for metric in scope.metrics:
                yield from checker.metric(metric)


def _hooks(subject: Subject) -> Hooks:
    """Some that let pass, and one that refuses the second call."""
    hooks, calls = Hooks(), iter(range(1000))
    hooks.before("*")(lambda op: None)

    @hooks.before(subject.kind)
    def second(op: Operation) -> None:
        if next(calls) == 1:
            raise Reject("one is enough", status_code=429)

    return hooks


@pytest.mark.parametrize("content", [pytest.param("NO_CONTENT", marks=pytest.mark.slow), "SPAN_AND_EVENT"])
@pytest.mark.parametrize("subject", a_fifth([*SUBJECTS, *TOLD]), ids=lambda one: one.name.replace(" ", "_"))
def test_nothing_is_emitted_that_has_no_name(subject: Subject, content: Any) -> None:
    with recorded(_hooks(subject), Settings(content=content, steps=True)) as (seen, started):
        for way in subject.ways.values():
            with suppress(Reject):
                settle(way(subject.make(Body())))
        checker = Checker("v1.41", closed=False, content=content != "NO_CONTENT")
        assert found(checker, seen, started) == []
        assert seen.spans


@pytest.mark.slow
@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_a_load(content: Any) -> None:
    with recorded(load_hooks, Settings(content=content)) as (seen, started):
        measure(45, 1, 1)  # every scenario comes once
        assert found(Checker("v1.41", content=content != "NO_CONTENT"), seen, started) == []
        kinds = {str((one.attributes or {}).get(semconv.KIND, "")) for one in seen.spans}
        assert kinds >= {"llm.call", "embeddings.create", ""}  # attempts to ask a remote policy have none


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_the_demo(content: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(model, "SECONDS_PER_CHUNK", 0.0)
    with recorded(demo_hooks, Settings(content=content)) as (seen, started):
        agent = make(live=False)
        for scene in SCENES:
            scene.run(agent)
        assert found(Checker("v1.41", content=content != "NO_CONTENT"), seen, started) == []
        assert len(seen.spans) > len(SCENES)


@pytest.mark.parametrize("opt_in", SETS)
@pytest.mark.parametrize(
    "subject",
    [pytest.param(one, marks=[] if one.name in NEAR else pytest.mark.slow) for one in (*SUBJECTS, *TOLD)],
    ids=lambda one: one.name.replace(" ", "_"),
)
def test_either_set_of_names(subject: Subject, opt_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorded(_hooks(subject), Settings(content="EVENT_ONLY")) as (seen, started):
        for way in subject.ways.values():
            with suppress(Reject):
                settle(way(subject.make(Body())))
        assert found(Checker(*SETS[opt_in], closed=False), seen, started) == []
        written = set(seen.metrics())
    wanted = {name for name, of in semconv.SETS.items() if name.startswith("gen_ai.client") and of in SETS[opt_in]}
    if subject.kind == "llm.call" and subject.name in NEAR:
        few = {"chunk", "cache", "reasoning", "exception"}  # not every call has these
        assert {one for one in wanted if not any(word in one for word in few)} <= written


def _every_kind() -> None:
    """Own code of every kind, some of it failing, in a run of somebody's."""
    with spanhook.context(user_id="ann", tenant_id="acme", session_id="s"), operation("run", "flow"):
        for kind in KINDS:
            with operation(kind, "x", request={"messages": ["hi"], "system": "be kind"}) as op:
                op.result_of({"role": "assistant", "content": "yes", "finish_reason": "stop"})
                if kind in ("llm.call", "embeddings.create"):
                    op.record_usage(input_tokens=10, output_tokens=3, cache_write_tokens=2, reasoning_tokens=1)
            with suppress(KeyError), operation(kind, "x"):
                raise KeyError("x")
            with operation(kind, "x") as op:
                assert list(op.stream(iter("ab"))) == ["a", "b"]


@pytest.mark.parametrize("opt_in", SETS)
@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_own_code_of_every_kind(content: Any, opt_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    with recorded(Hooks(), Settings(content=content)) as (seen, started):
        _every_kind()
        assert found(Checker(*SETS[opt_in], content=content != "NO_CONTENT"), seen, started) == []
        assert {str((span.attributes or {})[semconv.KIND]) for span in seen.spans} == set(KINDS)


@pytest.mark.parametrize("opt_in", SETS)
def test_calls_of_guardrails(opt_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    hooks = Hooks()

    @hooks.before("llm.call")
    def moderated(op: Operation) -> None:
        with spanhook.guardrail("moderation", policy_id="pii", server_address="a.test", server_port=443) as asked:
            asked.result("flagged", type="categorical", category="pii", score=1)
        with suppress(TimeoutError), spanhook.guardrail("moderation"):
            raise TimeoutError

    with recorded(hooks) as (seen, started):
        with operation("llm.call", "m"):
            pass
        assert found(Checker(*SETS[opt_in]), seen, started) == []
        assert [span.name for span in seen.spans].count("apply_guardrail moderation") == 2
