"""Providers of others: whatever they are, no call is refused and nothing fails because of them."""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import pytest
from opentelemetry import _logs, metrics, trace
from opentelemetry.metrics import Meter, MeterProvider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider as SDKMeters
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanhook
from spanhook import Hooks, semconv
from spanhook.diagnostics import internal
from spanhook.hooks.budget import Budget
from spanhook.hooks.circuit_breaker import CircuitBreaker
from spanhook.hooks.loop_guard import LoopGuard
from spanhook.hooks.rate_limit import RateLimit

MEASURED = {semconv.METRIC_TOKENS, semconv.METRIC_BUDGET_TOKENS, semconv.METRIC_BUDGET_UTILIZATION}


class Passing(metrics.MeterProvider, trace.TracerProvider, _logs.LoggerProvider):
    """Passes everything on to SDK providers, as Logfire's do."""

    def __init__(self, meters: SDKMeters, tracers: TracerProvider, loggers: LoggerProvider) -> None:
        self.meters, self.tracers, self.loggers = meters, tracers, loggers

    def get_meter(self, *args: Any, **kwargs: Any) -> Meter:
        return self.meters.get_meter(*args, **kwargs)

    def get_tracer(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracers.get_tracer(*args, **kwargs)

    def get_logger(self, *args: Any, **kwargs: Any) -> Any:
        return self.loggers.get_logger(*args, **kwargs)


@dataclasses.dataclass(init=False)
class Unhashable(Passing):
    """A dataclass has ``__eq__``, and so no ``__hash__``."""

    meters: SDKMeters
    tracers: TracerProvider
    loggers: LoggerProvider


class Lying(Passing):
    """Equal to everything, and empty."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __len__(self) -> int:
        return 0


class Raising(Passing):
    def __hash__(self) -> NoReturn:
        raise RuntimeError("hash")

    def __eq__(self, other: object) -> NoReturn:
        raise RuntimeError("eq")

    def __bool__(self) -> NoReturn:
        raise RuntimeError("bool")

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(name)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError("class")


class Slotted(MeterProvider):
    __slots__ = ("meters",)

    def __init__(self, meters: SDKMeters, *_: Any) -> None:
        self.meters = meters

    def get_meter(self, *args: Any, **kwargs: Any) -> Meter:
        return self.meters.get_meter(*args, **kwargs)


class Failing(Passing):
    """Has nothing."""

    def get_meter(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("no meter")

    def get_tracer(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("no tracer")

    def get_logger(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("no logger")


class Sinks:
    """Where telemetry arrives."""

    def __init__(self) -> None:
        self.reader, self.spans, self.logs = InMemoryMetricReader(), InMemorySpanExporter(), InMemoryLogRecordExporter()
        tracers, loggers = TracerProvider(), LoggerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        loggers.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.providers = SDKMeters([self.reader]), tracers, loggers

    def measured(self) -> set[str]:
        data = self.reader.get_metrics_data()
        resources = data.resource_metrics if data else ()
        return {metric.name for one in resources for scope in one.scope_metrics for metric in scope.metrics}


@pytest.fixture
def hooks() -> Hooks:
    return Hooks(
        Budget("run", tokens=1_000_000),
        RateLimit("1000/minute"),
        LoopGuard(),
        CircuitBreaker(),
    )


@pytest.fixture
def survives() -> Iterator[None]:
    """Internal errors are counted, as in an application."""
    internal.fatal = False
    yield
    internal.fatal = True


def calls() -> None:
    for _ in range(2):
        with spanhook.operation("llm.call", "m", provider="acme", request={"messages": ["hi"]}) as op:
            op.record_usage(input_tokens=1, output_tokens=1)


@pytest.mark.parametrize("made", [Passing, Unhashable, Lying, Raising, Slotted])
def test_meters_of_others(made: Callable[..., Any], hooks: Hooks) -> None:
    sinks, other = Sinks(), Sinks()
    provider, second = made(*sinks.providers), made(*other.providers)
    spanhook.instrument(hooks, only=[], meter_provider=provider)
    calls()
    assert sinks.measured() >= MEASURED
    spanhook.instrument(hooks, only=[], meter_provider=second)
    calls()
    assert other.measured() >= MEASURED
    spanhook.instrument(hooks, only=[], meter_provider=provider)
    calls()
    assert not internal.counts


@pytest.mark.parametrize("made", [Passing, Unhashable, Lying, Raising])
def test_tracers_and_loggers_of_others(made: Callable[..., Any], hooks: Hooks) -> None:
    sinks = Sinks()
    provider = made(*sinks.providers)
    spanhook.instrument(hooks, only=[], tracer_provider=provider, meter_provider=provider, logger_provider=provider)
    calls()
    assert [span.name for span in sinks.spans.get_finished_spans()] == ["chat m", "chat m"]
    assert not internal.counts


def test_providers_that_have_nothing(hooks: Hooks, survives: None, caplog: pytest.LogCaptureFixture) -> None:
    provider = Failing(*Sinks().providers)
    with caplog.at_level(logging.WARNING, "spanhook"):
        spanhook.instrument(hooks, only=[], tracer_provider=provider, meter_provider=provider, logger_provider=provider)
        calls()
    assert set(internal.counts) == {"providers.metrics", "providers.traces", "providers.logs", "hooks.metrics"}


def test_an_instrument_that_fails_lets_the_call_pass(hooks: Hooks, survives: None) -> None:
    class Broken(SDKMeters):
        def get_meter(self, *args: Any, **kwargs: Any) -> Any:
            if not str(args[0] if args else kwargs.get("name")).startswith("spanhook.hooks"):
                return super().get_meter(*args, **kwargs)

            class Meter:
                def __getattr__(self, name: str) -> Any:
                    raise RuntimeError(name)

            return Meter()

    spanhook.instrument(hooks, only=[], meter_provider=Broken())
    calls()
    assert set(internal.counts) == {"hooks.metrics"}


class Odd(SpanProcessor):
    """A processor that is equal to everything, and whose methods are not hashable."""

    class Method(list[Any]):
        def __call__(self, *_: Any, **__: Any) -> None: ...

    def __init__(self) -> None:
        self.on_start, self._on_ending = self.Method(), self.Method()  # type: ignore[method-assign]

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


def test_processors_of_others(hooks: Hooks) -> None:
    sinks = Sinks()
    tracers = sinks.providers[1]
    tracers.add_span_processor(Odd())
    spanhook.instrument(hooks, only=[], tracer_provider=tracers)
    calls()
    with tracers.get_tracer("other").start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
        pass
    assert len(sinks.spans.get_finished_spans()) == 3
    assert not internal.counts
