"""Spans that other instrumentations open, as operations: hooks hear of them, and gate as far as they are let.

A rejection is raised out of ``on_start``; whether the call is then not made is up to the instrumentation that opened
the span and to the SDK. Hence ``best_effort``.
"""

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode

from spanhook import semconv
from spanhook.clock import clock
from spanhook.context import ambient
from spanhook.current import InHook, current
from spanhook.errors import internal
from spanhook.finishing import Run, finish, passes, start
from spanhook.foreign import is_double, kind_of, usage_of
from spanhook.hook import Hook, again, bridge
from spanhook.lifecycle import enter, foreign, outcome, registry, restore
from spanhook.metrics import SCOPE
from spanhook.record import Record
from spanhook.registry import Plan, Registry
from spanhook.semconv import Kind
from spanhook.shape import Args, Kwargs, Shape
from spanhook.spans import quiet
from spanhook.tracebacks import sheds


def _known(_instance: Any, _args: Args, _kwargs: Kwargs) -> dict[str, Any]:
    return {}


def _no_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a call that another instrumentation makes cannot be answered, only refused")


_SHAPES: Mapping[Kind, Shape] = {
    kind: Shape(kind=kind, layer="foreign", start=_known, answer=_no_answer) for kind in semconv.KINDS
}


class Live:
    """Operations for spans of others that have not ended, by span id."""

    def __init__(self) -> None:
        self._runs: dict[int, Run | None] = {}

    def begin(self, span: Span, plan: Plan, kind: Kind) -> Record:
        """Make an operation of a span that has just been started."""
        held = current.get()
        parent = held.op if isinstance(held, InHook) else held
        around = span.parent
        if around is not None and around.span_id in foreign:
            parent = foreign[around.span_id]
        attributes = dict(span.attributes or {})
        before = otel_context.get_current()
        op = Record(_SHAPES[kind], attributes, None, (), {}, parent, ambient.get(), before, clock.now())
        op.agent = op.name if kind == "agent.invoke" else parent.agent if parent is not None else ""
        op.span, op.foreign = span, True
        if isinstance(held, InHook):
            op.in_hook = True
        elif plan:
            op.plan, op.coverage = plan, "best_effort"
        latch = op.root.latch
        if latch is not None and not op.in_hook:
            op.error = again(latch)
        if op.plan is not None:
            span.set_attributes({semconv.KIND: kind, semconv.COVERAGE: op.coverage})
        span_id = span.get_span_context().span_id
        foreign[span_id] = op
        weakref.finalize(span, self._forget, span_id)
        return op

    def _forget(self, span_id: int) -> None:
        foreign.pop(span_id, None)
        self._runs.pop(span_id, None)

    def gate(self, op: Record) -> None:
        """Run the gates; what came of them stands in ``op.error``."""
        held = enter(op)
        try:
            run = start(op, is_async=False)
            if passes(op, run):
                op.called = True
                self._runs[op.span.get_span_context().span_id] = run
            else:
                finish(op, run)
        finally:
            restore(held)

    def end(self, span: ReadableSpan) -> None:
        """The span has ended: run what comes after the call."""
        context = span.get_span_context()
        span_id = context.span_id if context is not None else 0
        op = foreign.pop(span_id, None)
        run = self._runs.pop(span_id, None)
        if op is None or op.ended:
            return
        attributes = dict(span.attributes or {})
        op.attributes.update(attributes)
        op.end_attributes = attributes
        if span.status.status_code is StatusCode.ERROR and op.error is None:
            op.error = ForeignError(span.status.description or "")
        op.own_usage = usage_of(attributes)
        if op.coverage is not None:
            op.coverage = "observed"
        held = enter(op)
        try:
            finish(op, run)
        finally:
            restore(held)


class ForeignError(Exception):
    """Stands for what a call of another instrumentation raised, of which its span tells the words alone."""


live = Live()


class ForeignSpans(SpanProcessor):
    """The one processor that spanhook adds to a provider: it brings spans of others to the hooks.

    Args:
        provider: Whose spans; held weakly. ``None`` for a hook that is alone on its provider.
        hooks: The registry to ask.
    """

    def __init__(self, provider: TracerProvider | None, hooks: Registry) -> None:
        self._provider = weakref.ref(provider) if provider is not None else lambda: None
        self._hooks = hooks
        self.on = True

    @sheds
    def on_start(self, span: Span, parent_context: otel_context.Context | None = None) -> None:
        if not self.on:
            return
        scope = span.instrumentation_scope
        name = scope.name if scope is not None else ""
        if name == SCOPE:
            return
        op = None
        try:
            kind = kind_of(span.attributes or {})
            if kind is not None and not is_double(name):
                op = live.begin(span, self._hooks.plans.get(kind, Plan()), kind)
                live.gate(op)
        except Exception as error:
            internal.report("processor", error, lost=1)
        if op is not None and not op.called:
            self._refuse(op, span, parent_context)

    def _refuse(self, op: Record, span: Span, parent_context: otel_context.Context | None) -> None:
        """End the span once every processor has seen its start, and raise what the hook decided."""
        foreign.pop(span.get_span_context().span_id, None)
        for processor in self._after_this():
            try:
                processor.on_start(span, parent_context)
            except Exception as error:
                internal.report("processor", error)
        span.end()
        outcome(op)

    def _after_this(self) -> list[SpanProcessor]:
        processors = processors_of(self._provider())
        return processors[processors.index(self) + 1 :] if self in processors else []

    def on_end(self, span: ReadableSpan) -> None:
        if foreign and (context := span.get_span_context()) is not None and context.span_id in foreign:
            try:
                live.end(span)
            except Exception as error:
                internal.report("processor", error, lost=1)


def processors_of(provider: Any) -> list[SpanProcessor]:
    """The processors of an SDK provider; empty where they cannot be known."""
    return list(getattr(getattr(provider, "_active_span_processor", None), "_span_processors", ()))


_attached: "weakref.WeakKeyDictionary[TracerProvider, ForeignSpans]" = weakref.WeakKeyDictionary()
_attaching = threading.Lock()


def _renew() -> None:
    """A fork may have copied the lock while another thread held it."""
    global _attaching
    _attaching = threading.Lock()


os.register_at_fork(after_in_child=_renew)


def attach(provider: Any = None) -> None:
    """Bring a provider's hooks and foreign spans in; the global provider unless one is given."""
    provider = provider or trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        return
    for processor in processors_of(provider):
        if isinstance(processor, Hook):
            registry.join(processor)
    with _attaching:
        known = _attached.get(provider)
        if known is not None:
            known.on = True
            return
        _attached[provider] = ForeignSpans(provider, registry)
    provider.add_span_processor(_attached[provider])


def listening() -> Callable[[], None]:
    """Remember which providers are listened to now; the function returned goes back to them."""
    before = [processor for processor in _attached.values() if processor.on]

    def back() -> None:
        for processor in list(_attached.values()):
            processor.on = processor in before

    return back


def detach() -> None:
    """Hear of foreign spans no more. A processor cannot be taken off a provider, so ours stays and does nothing."""
    for processor in list(_attached.values()):
        processor.on = False
    foreign.clear()


def joined(instance: Any, args: Args, kwargs: Kwargs, _result: Any) -> None:
    """A processor was added to some provider: a hook among them joins those in force."""
    processor = args[0] if args else kwargs.get("span_processor")
    if isinstance(processor, Hook):
        attach(instance)


_lone: dict[int, ForeignSpans] = {}
"""By the hook's id: hooks are told apart by identity, and need not be hashable."""


def _lone_start(hook: Hook, span: Span, parent_context: otel_context.Context | None) -> None:
    """A hook that was added to a provider while nothing is instrumented hears of foreign spans by itself."""
    if id(hook) in registry.members:
        return
    alone = _lone.get(id(hook))
    if alone is None:
        own = Registry()
        own.join(hook)
        alone = _lone[id(hook)] = ForeignSpans(None, own)
    alone.on_start(span, parent_context)


quiet(ForeignSpans)
quiet(Hook)
bridge.start = _lone_start
bridge.end = live.end
