"""Instrumenting as a whole: called again, failing, taken off; nothing is left half done."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanhook
from spanhook import ConfigurationError, Hook, Hooks, Operation, Reject, RequirementError
from spanhook.cli.conformance.libraries.langchain_core import ScriptedChat, ScriptedEmbeddings
from spanhook.cli.conformance.subject import Body
from spanhook.config.instrumenting import _active
from spanhook.engine import bound_libraries, registry
from spanhook.engine.processor import _attached
from spanhook.instrument import INSTRUMENTORS, Declaration, Instrumentor, providers, watch
from spanhook.instrument._refusing import Refusals
from spanhook.model import Point
from spanhook.telemetry import telemetry
from tests.stub import Library
from tests.telemetry.test_metrics import reader, tokens


class Lacking(Instrumentor):
    """A library that lacks one of its points."""

    library = "lacking"
    table = (
        Point(module="tests.stub", name="Library.work", adapter="tests.stub:WHOLE"),
        Point(module="tests.stub", name="Library.gone", adapter="tests.stub:WHOLE"),
    )


class Breaking(Instrumentor):
    """A library of which one point cannot be wrapped."""

    library = "breaking"
    table = (
        Point(module="tests.stub", name="Library.work", adapter="tests.stub:WHOLE"),
        Point(module="builtins", name="int.bit_length", adapter="tests.stub:WHOLE"),
    )


@pytest.fixture
def more_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more libraries that users may name."""
    for one in (Lacking, Breaking):
        declared = Declaration(
            one.library, instrumentor=f"{__name__}:{one.__name__}", requirement="pytest >= 1", extra="test"
        )
        monkeypatch.setitem(INSTRUMENTORS, one.library, declared)


class Refuse(Hook):
    def before(self, op: Operation) -> None:
        raise Reject("no")


def crowd() -> list[Hook]:
    """One hook more than may be in force."""
    return [Refuse() for _ in range(21)]


pytestmark = pytest.mark.usefixtures("unbound")


FAILING: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "not bound": (RequirementError, {"only": ["langchain", "openai", "lacking"], "require": ["lacking"]}),
    "not wrapped": (TypeError, {"only": ["langchain", "breaking"]}),
    "too many hooks": (ConfigurationError, {"hooks": crowd()}),
    "no hook": (ConfigurationError, {"hooks": [Refuse(), object()]}),
    "unknown library": (ConfigurationError, {"hooks": Refuse(), "only": ["langchian"]}),
    "unknown requirement": (ConfigurationError, {"hooks": Refuse(), "require": ["langchian"]}),
    "unknown to allow": (ConfigurationError, {"hooks": Refuse(), "settings": spanhook.Settings(allow=["x"])}),
    "content": (ConfigurationError, {"hooks": Refuse(), "settings": spanhook.Settings(content="ALL")}),  # pyright: ignore[reportArgumentType]
}


def in_force() -> dict[str, Any]:
    """All that instrumenting changes."""
    return {
        "wrapped": [vars(owner)[name] for owner, name in _owners()],
        "code": [getattr(vars(owner)[name], "__code__", None) for owner, name in _owners()],
        "libraries": list(_active),
        "bound": set(bound_libraries),
        "hooks": registry.hooks,
        "plans": registry.plans,
        "mode": registry.mode,
        "settings": telemetry.settings,
        "providers": (telemetry._tracer_provider, telemetry._meter_provider, telemetry._logger_provider),
        "instruments": telemetry.instruments,
        "listening": [processor for processor in _attached.values() if processor.on],
        "states": dict(providers.states),
        "rule": watch.rule,
        "refusing": [one for one in sys.meta_path if isinstance(one, Refusals)],
    }


def _owners() -> Iterator[tuple[Any, str]]:
    from openai._base_client import SyncAPIClient
    from opentelemetry import trace

    yield Library, "work"
    yield BaseChatModel, "generate"
    yield BaseChatModel, "stream"
    yield SyncAPIClient, "request"
    yield TracerProvider, "add_span_processor"
    yield trace, "set_tracer_provider"


@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.usefixtures("more_libraries")
def test_one_that_fails_leaves_nothing_behind(failing: str) -> None:
    error, given = FAILING[failing]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Refuse())
    metrics = MeterProvider([reader()], shutdown_on_exit=False)
    before = in_force()
    with pytest.raises(error):
        spanhook.instrument(tracer_provider=provider, meter_provider=metrics, **given)
    assert in_force() == before
    body = Body()
    assert ScriptedChat(body=body).invoke("hi").content == "hello there friend"
    assert body.runs == 1
    provider.add_span_processor(Refuse())
    assert in_force() == before
    spanhook.instrument(Refuse(), only=["langchain"])  # and it can be tried again
    with pytest.raises(Reject):
        ScriptedChat(body=body).invoke("hi")
    assert body.runs == 1


@pytest.mark.every_value
@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.usefixtures("more_libraries")
def test_one_that_fails_leaves_what_was_in_force(failing: str) -> None:
    error, given = FAILING[failing]
    spans, metrics = InMemorySpanExporter(), reader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    hooks = Hooks(Refuse())
    spanhook.instrument(
        hooks,
        tracer_provider=provider,
        meter_provider=MeterProvider([metrics], shutdown_on_exit=False),
        only=["langchain"],
        settings=spanhook.Settings(steps=True),
    )
    before = in_force()
    other = TracerProvider(shutdown_on_exit=False)
    with pytest.raises(error):
        spanhook.instrument(tracer_provider=other, **given)
    assert in_force() == before
    body = Body()
    with pytest.raises(Reject):
        ScriptedChat(body=body).invoke("hi")
    hooks.remove(next(iter(hooks)))
    ScriptedChat(body=body).invoke("hi")
    assert body.runs == 1
    assert len(spans.get_finished_spans()) == 2
    assert tokens(metrics) == 28


def test_called_again_it_adds_hooks_and_keeps_the_rest() -> None:
    spans, metrics = InMemorySpanExporter(), reader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    spanhook.instrument(
        tracer_provider=provider,
        meter_provider=MeterProvider([metrics], shutdown_on_exit=False),
        settings=spanhook.Settings(steps=True),
    )
    model = ScriptedChat(body=Body())
    model.invoke("hi")
    spanhook.instrument(Refuse())
    with pytest.raises(Reject):
        model.invoke("hi")
    assert len(spans.get_finished_spans()) == 2
    assert tokens(metrics) == 28
    assert telemetry.settings.steps
    spanhook.instrument(settings=spanhook.Settings(mode="off"))
    model.invoke("hi")
    assert len(spans.get_finished_spans()) == 3
    assert tokens(metrics) == 56


def test_after_uninstrument_providers_and_subclasses_have_the_very_objects_that_were_there() -> None:
    from opentelemetry import _logs, metrics, trace

    def found() -> list[Any]:
        names = ((trace, "set_tracer_provider"), (metrics, "set_meter_provider"), (_logs, "set_logger_provider"))
        attributes = [vars(module)[name] for module, name in names]
        for module, name in (
            ("opentelemetry.metrics._internal", "set_meter_provider"),
            ("opentelemetry._logs._internal", "set_logger_provider"),
        ):
            attributes.append(vars(importlib.import_module(module))[name])
        attributes.append(vars(TracerProvider)["add_span_processor"])
        attributes.extend(vars(ScriptedEmbeddings)[name] for name in ("embed_documents", "embed_query"))
        return [(one, getattr(one, "__code__", None)) for one in attributes]

    before = found()
    for _ in range(2):
        spanhook.instrument(Refuse())
        assert all(now[0] is not then[0] or now[1] is not then[1] for now, then in zip(found(), before, strict=True))
        spanhook.uninstrument()
        assert all(now[0] is then[0] and now[1] is then[1] for now, then in zip(found(), before, strict=True))


def test_instrumented_again_the_providers_given_stay() -> None:
    mine = TracerProvider(shutdown_on_exit=False)
    try:
        spanhook.instrument(tracer_provider=mine, only=())
        spanhook.instrument(Hooks(), only=())
        from spanhook.telemetry import telemetry

        assert telemetry.opener.tracer.resource is mine.resource
    finally:
        spanhook.uninstrument()


def test_instrument_takes_one_name_for_a_list_and_says_what_it_does_not_take() -> None:
    with pytest.raises(spanhook.ConfigurationError, match="unknown library 'langgrph'"):
        spanhook.instrument(require="langgrph")
    with pytest.raises(spanhook.ConfigurationError, match="import it"):
        spanhook.instrument("hooks:hooks")  # pyright: ignore[reportArgumentType]
    with pytest.raises(spanhook.ConfigurationError, match=r"pass spanhook.Settings"):
        spanhook.instrument(settings={"steps": True})  # pyright: ignore[reportArgumentType]
