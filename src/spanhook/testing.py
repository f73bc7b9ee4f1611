"""Tools for testing hooks: recorded telemetry, fixed ids and a fixed clock.

A module of tests::

    from langchain_core.tools import tool

    from spanhook import Hooks, Operation, Reject
    from spanhook.testing import is_gated, recorder

    hooks = Hooks()

    @hooks.before("tool.execute", names={"refund"})
    def no_refunds(op: Operation) -> None:
        raise Reject("no refunds on Sundays")

    @tool
    def refund(amount: int) -> str:
        '''Pay money back.'''
        raise AssertionError("the body ran")

    def test_refunds_are_refused() -> None:
        call = {"type": "tool_call", "id": "1", "name": "refund", "args": {"amount": 5}}
        with recorder(hooks) as seen:
            refund.invoke(call)
        assert [(op.name, op.status) for op in seen.operations] == [("refund", "rejected")]

    def test_our_way_of_calling_tools_is_gated() -> None:
        assert is_gated("tool.execute", lambda: refund.invoke({"amount": 5}))
"""

import asyncio
import inspect
import itertools
import os
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.environment_variables import (
    OTEL_EXPERIMENTAL_RESOURCE_DETECTORS,
    OTEL_RESOURCE_ATTRIBUTES,
    OTEL_SERVICE_NAME,
)
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Sampler

from spanhook.concurrency import reaper
from spanhook.config import Given, instrument, uninstrument
from spanhook.diagnostics import internal
from spanhook.engine import listeners, registry
from spanhook.errors import Reject
from spanhook.gating import Hooks
from spanhook.model import Operation, Record, clock, view_of
from spanhook.settings import Settings

PATIENCE_S = 60.0
"""How long to wait at most for pending work: generous, so that no test depends on how busy the machine is."""


RESOURCE_VARIABLES = (OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, OTEL_EXPERIMENTAL_RESOURCE_DETECTORS)
"""Variables of the environment from which the SDK makes a resource."""


@lru_cache(maxsize=8)
def _resource(*_environment: str | None) -> Resource:
    """The resource of this environment, made once: the SDK starts a thread for each of its detectors."""
    return Resource.create()


class FixedIds(IdGenerator):
    """Span ids 1, 2, 3 ... and trace ids likewise, in order of creation."""

    def __init__(self) -> None:
        self._spans, self._traces = itertools.count(1), itertools.count(1)

    def generate_span_id(self) -> int:
        return next(self._spans)

    def generate_trace_id(self) -> int:
        return next(self._traces)


class Recorder:
    """What was recorded.

    Attributes:
        operations: Every operation that has ended, in order of ending.
        tracer_provider, meter_provider, logger_provider: Where telemetry went; you may add processors to them.
    """

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.operations: list[Operation] = []
        self._spans = InMemorySpanExporter()
        self._logs = InMemoryLogRecordExporter()
        self._reader = InMemoryMetricReader()
        resource = _resource(*map(os.environ.get, RESOURCE_VARIABLES))
        self.tracer_provider = TracerProvider(sampler, resource, shutdown_on_exit=False, id_generator=FixedIds())
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.logger_provider = LoggerProvider(resource, shutdown_on_exit=False)
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.meter_provider = MeterProvider([self._reader], resource, shutdown_on_exit=False)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Every exported span, in order of ending."""
        reaper.drain(PATIENCE_S)
        return list(self._spans.get_finished_spans())

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every log event: its name, attributes, body and trace id."""
        reaper.drain(PATIENCE_S)
        registry.flush_shadows(PATIENCE_S)
        return [
            {
                "name": one.log_record.event_name,
                "attributes": dict(one.log_record.attributes or {}),
                "body": one.log_record.body,
                "trace_id": one.log_record.trace_id,
            }
            for one in self._logs.get_finished_logs()
        ]

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """Every metric by name: attributes and value of each series; a histogram's value is its sum and count."""
        found: dict[str, list[tuple[dict[str, Any], Any]]] = {}
        data = self._reader.get_metrics_data()
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    series = found.setdefault(metric.name, [])
                    points: Any = metric.data.data_points
                    for point in points:
                        value = point.value if hasattr(point, "value") else (point.sum, point.count)
                        series.append((dict(point.attributes or {}), value))
        return found

    def tree(self) -> list[dict[str, Any]]:
        """The spans as nested plain data: name, status, attributes, events and children, in order of starting."""
        spans = sorted(self.spans, key=_span_id)
        nodes: dict[int, dict[str, Any]] = {
            _span_id(span): {
                "name": span.name,
                "status": span.status.status_code.name,
                "attributes": dict(span.attributes or {}),
                "events": [{"name": event.name, **dict(event.attributes or {})} for event in span.events],
                "children": [],
            }
            for span in spans
        }
        roots: list[dict[str, Any]] = []
        for span in spans:
            node = nodes[_span_id(span)]
            parent = nodes.get(span.parent.span_id) if span.parent is not None else None
            (parent["children"] if parent is not None else roots).append(node)
        return roots


def _span_id(span: ReadableSpan) -> int:
    context = span.get_span_context()
    return context.span_id if context is not None else 0


@contextmanager
def fixed_clock(step_ns: int = 1_000_000) -> Generator[None, None, None]:
    """A clock that advances by ``step_ns`` nanoseconds at each reading, and run ids 1, 2, 3 ..."""
    held = clock.now, clock.wall, clock.run_id
    forward, epoch, runs = itertools.count(step_ns, step_ns), itertools.count(step_ns, step_ns), itertools.count(1)
    clock.now, clock.wall = lambda: next(forward), lambda: next(epoch)
    clock.run_id = lambda: f"{next(runs):032x}"
    try:
        yield
    finally:
        clock.now, clock.wall, clock.run_id = held


@contextmanager
def recorder(
    hooks: Given | Iterable[Given] | None = None,
    *,
    sampler: Sampler | None = None,
    only: Iterable[str] | None = None,
    require: Iterable[str] = (),
    settings: Settings | None = None,
) -> Generator[Recorder, None, None]:
    """Instrument while the block runs and record everything; errors in spanhook's own code are raised.

    Takes the arguments of ``spanhook.instrument``, and a sampler.
    """
    seen = Recorder(sampler)
    fatal, internal.fatal = internal.fatal, True

    def ended(op: Record) -> None:
        seen.operations.append(view_of(op))

    listeners.append(ended)
    with fixed_clock():
        try:
            instrument(
                hooks,
                tracer_provider=seen.tracer_provider,
                meter_provider=seen.meter_provider,
                logger_provider=seen.logger_provider,
                only=only,
                require=require,
                settings=settings or Settings(),
            )
            yield seen
            if not reaper.drain(PATIENCE_S):
                raise TimeoutError(f"streams that were dropped have not ended after {PATIENCE_S:.0f} s")
            registry.flush(PATIENCE_S)
        finally:
            uninstrument()
            listeners.remove(ended)
            internal.fatal = fatal


def is_gated(kind: str, call: Callable[[], Any]) -> bool:
    """Test whether hooks can refuse the operation of ``kind`` that ``call`` makes, without executing it.

    Use it on your own entry points to check that the library versions you deploy are covered.

    Args:
        kind: Such as ``tool.execute``.
        call: Makes the call, or returns an awaitable that does; run once, with every operation of that kind refused.

    Returns:
        True if at least one operation of the kind was refused before its body ran.
    """
    probe = Hooks()
    refused: list[Operation] = []

    @probe.before(kind, priority=0, name="spanhook.testing.is_gated")
    def refuse(op: Operation) -> None:
        refused.append(op)
        raise Reject("refused by spanhook.testing.is_gated", scope="run")

    with recorder(probe), suppress(Reject):
        made = call()
        if inspect.isawaitable(made):
            asyncio.run(_await(made))
    return bool(refused) and all(not op._record.called for op in refused)


async def _await(made: Awaitable[Any]) -> Any:
    return await made
