"""Everything that is emitted, of every library and own code, against the facts of the conventions and the registry."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from spanhook import Hooks, Operation, Reject, Settings, semconv
from spanhook.cli.conformance.subject import Body, Subject, settle
from spanhook.cli.demo import model
from spanhook.cli.demo.agent import make
from spanhook.cli.demo.hooks import hooks as demo_hooks
from spanhook.cli.demo.scenes import SCENES
from spanhook.cli.load import measure
from spanhook.cli.load.hooks import hooks as load_hooks
from spanhook.testing import Recorder, recorder
from tests.conformance.everything import SUBJECTS
from tests.conventions.checking import Checker

SETS = {
    "": ("v1.41",),
    semconv.OPT_IN_NEWEST: ("newest",),
    f"http, {semconv.OPT_IN_BOTH}": ("v1.41", "newest"),
}


class Told(Sampler):
    """A sampler that keeps what it was told of each span, in the order in which they start."""

    def __init__(self) -> None:
        self.told: dict[str, list[dict[str, Any]]] = {}

    def should_sample(
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        *rest: Any,
        **more: Any,
    ) -> SamplingResult:
        self.told.setdefault(name, []).append(dict(attributes or {}))
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        return "told"

    def of(self, span: ReadableSpan) -> dict[str, Any] | None:
        """What it was told of a span, where all of its name were told the same."""
        told = self.told.get(span.name, [])
        return told[0] if told and all(one.keys() == told[0].keys() for one in told) else None


def found(checker: Checker, seen: Recorder, sampler: Told) -> Iterator[str]:
    for span in seen.spans:
        yield from checker.span(span, sampler.of(span))
    for event in seen.events:
        yield from checker.event(event)
    data = seen._reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
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
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.name.replace(" ", "_"))
def test_nothing_is_emitted_that_has_no_name(subject: Subject, content: Any) -> None:
    sampler = Told()
    with recorder(_hooks(subject), settings=Settings(content=content, steps=True), sampler=sampler) as seen:
        for way in subject.ways.values():
            with suppress(Reject):
                settle(way(subject.make(Body())))
        checker = Checker("v1.41", closed=False)
        assert sorted(set(found(checker, seen, sampler))) == []
        assert seen.spans


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_a_load(content: Any) -> None:
    sampler = Told()
    with recorder(load_hooks, settings=Settings(content=content), sampler=sampler) as seen:
        measure(45, 1, 1)  # every scenario comes once
        assert sorted(set(found(Checker("v1.41"), seen, sampler))) == []
        assert {str((one.attributes or {})[semconv.KIND]) for one in seen.spans} >= {"llm.call", "embeddings.create"}


@pytest.mark.parametrize("content", ["NO_CONTENT", "SPAN_AND_EVENT"])
def test_the_demo(content: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(model, "SECONDS_PER_CHUNK", 0.0)
    sampler = Told()
    with recorder(demo_hooks, settings=Settings(content=content), sampler=sampler) as seen:
        agent = make(live=False)
        for scene in SCENES:
            scene.run(agent)
        assert sorted(set(found(Checker("v1.41"), seen, sampler))) == []
        assert len(seen.spans) > len(SCENES)


@pytest.mark.parametrize("opt_in", SETS)
@pytest.mark.parametrize("name", ["chat", "graph", "openai chat", "anthropic messages", "embeddings"])
def test_either_set_of_names(name: str, opt_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = next(one for one in SUBJECTS if one.name == name)
    monkeypatch.setenv(semconv.OPT_IN, opt_in)
    sampler = Told()
    with recorder(_hooks(subject), sampler=sampler) as seen:
        for way in subject.ways.values():
            with suppress(Reject):
                settle(way(subject.make(Body())))
        problems = set(found(Checker(*SETS[opt_in]), seen, sampler))
        written = set(seen.metrics())
    assert sorted(problems) == []
    wanted = {name for name, of in semconv.SETS.items() if name.startswith("gen_ai.client") and of in SETS[opt_in]}
    if subject.kind == "llm.call":
        few = {"chunk", "cache", "reasoning", "exception"}  # not every call has these
        assert {one for one in wanted if not any(word in one for word in few)} <= written
