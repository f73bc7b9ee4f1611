"""Spans that other instrumentations open, as operations: hooks observe them, and gate as far as possible.

A rejection is raised out of ``on_start``; whether the call is then not made is up to the instrumentation that opened
the span and to the SDK, hence ``best_effort``. Nothing is raised into instrumentations known to make the call anyway:
the span stays its owner's.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, cast

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from spanhook.diagnostics import internal
from spanhook.engine._foreign_operations import live, scope_of
from spanhook.engine.foreign import is_double, kind_of, swallows
from spanhook.engine.lifecycle import outcome, registry
from spanhook.fork import after_fork
from spanhook.gating import Hook, Registry, bridge
from spanhook.identity import ByIdentity, attribute, is_instance
from spanhook.model import Args, Kwargs, Record, sheds
from spanhook.telemetry import SCOPE, quiet


class ForeignSpans(SpanProcessor):
    """The one processor that spanhook adds to a provider: it passes spans of other instrumentations to the hooks.

    Args:
        provider: The provider of the spans; held weakly. ``None`` for a lone hook on its provider.
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
        name = scope_of(span)
        if name == SCOPE:
            return
        op = None
        try:
            kind = kind_of(span.attributes or {})
            if kind is not None and not is_double(name, kind) and not live.absorb(span, kind, name):
                op = live.begin(span, self._hooks, kind, name)
                live.gate(op)
        except Exception as error:
            internal.report("processor", error, lost=1)
        if op is None or op.error is None:
            return
        if not swallows(name) or not isinstance(op.error, Exception):
            self._refuse(op, span, parent_context)
        else:
            live.attempted(op)

    def _refuse(self, op: Record, span: Span, parent_context: otel_context.Context | None) -> None:
        """End the span once every processor has seen its start, and raise what the hook decided."""
        for processor in self._after_this():
            try:
                processor.on_start(span, parent_context)
            except Exception as error:
                internal.report("processor", error)
        error = op.error
        live.refused(op)
        op.error = error
        outcome(op)

    def _after_this(self) -> list[SpanProcessor]:
        processors = processors_of(self._provider())
        return processors[next((at + 1 for at, one in enumerate(processors) if one is self), len(processors)) :]

    def on_end(self, span: ReadableSpan) -> None:
        if live.knows(span):
            try:
                live.end(span)
            except Exception as error:
                internal.report("processor", error, lost=1)


def processors_of(provider: Any) -> list[SpanProcessor]:
    """The processors of an SDK provider; empty if they cannot be known."""
    return list(attribute(attribute(provider, "_active_span_processor"), "_span_processors", ()))


_attached = ByIdentity[TracerProvider, ForeignSpans]()
_attaching = threading.RLock()
"""Held until a provider has its processor: whoever attaches it then can rely on that. A provider may attach itself."""


def _renew() -> None:
    """Replace the lock: a fork may have copied it while another thread held it."""
    global _attaching
    _attaching = threading.RLock()


after_fork("processors", _renew)


def attach(provider: Any = None) -> None:
    """Take in a provider's hooks and foreign spans; by default, those of the global provider."""
    provider = trace.get_tracer_provider() if provider is None else provider
    if not is_instance(provider, TracerProvider):
        return
    for processor in processors_of(provider):
        if is_instance(processor, Hook):
            registry.join(cast("Any", processor))
    with _attaching:
        known = _attached.get(provider)
        if known is not None:
            known.on = True
            return
        made = _attached[provider] = ForeignSpans(provider, registry)
        try:
            provider.add_span_processor(made)
        except Exception as error:
            _attached.pop(provider)  # the next call tries again
            internal.report("processor", error)


def listening() -> Callable[[], None]:
    """Save which providers are attached now; the returned function restores that."""
    before = [processor for processor in _attached.values() if processor.on]

    def back() -> None:
        for processor in _attached.values():
            processor.on = any(processor is one for one in before)

    return back


def detach() -> None:
    """Ignore foreign spans from now on. A processor cannot be removed from a provider, so ours stays and does
    nothing.
    """
    for processor in _attached.values():
        processor.on = False
    live.clear()


def joined(instance: Any, args: Args, kwargs: Kwargs, _result: Any) -> None:
    """A processor was added to some provider: if it is a hook, it joins the active hooks."""
    processor = args[0] if args else kwargs.get("span_processor")
    if is_instance(processor, Hook):
        attach(instance)


_lone: dict[int, ForeignSpans] = {}
"""By the hook's id: hooks are compared by identity, and need not be hashable."""


def _lone_start(hook: Hook, span: Span, parent_context: otel_context.Context | None) -> None:
    """A hook added to a provider while nothing is instrumented observes foreign spans by itself."""
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
