"""Opens spans at a fraction of the SDK's cost, where nothing can observe the difference.

Most of a span's cost in the SDK is work that our spans rarely need: it validates every attribute again and prepares for
events and links. A ``LeanSpan`` is an SDK span without that work, and becomes a complete span as soon as more of it is
accessed. It is used only if no processor handles the start of spans or does more than export ended ones, there are no
attribute limits, and the SDK's internals are the known ones; otherwise the tracer opens the span.
``tests/telemetry/test_spans.py`` checks that both give the same result on every supported version.
"""

import os
from collections.abc import Callable, Collection
from random import getrandbits
from typing import Any, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import (
    ConcurrentMultiSpanProcessor,
    ReadableSpan,
    SpanProcessor,
    SynchronousMultiSpanProcessor,
    Tracer,
)
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased
from opentelemetry.trace import (
    INVALID_SPAN,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from spanhook.identity import attribute
from spanhook.telemetry._lean_span import LeanSpan, is_plain, lean_span

_new: Callable[[type[SpanContext], tuple[Any, ...]], SpanContext] = tuple[Any, ...].__new__
_KEY = next(iter(set_span_in_context(INVALID_SPAN, Context())))
_INTERNAL_METRICS = "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED"
_FEWEST_ATTRIBUTES = 64
_QUIET = {SpanProcessor.on_start, BatchSpanProcessor.on_start, SimpleSpanProcessor.on_start}
"""``on_start`` methods known to do nothing."""


_READERS = {BatchSpanProcessor.on_end, SimpleSpanProcessor.on_end, SpanProcessor.on_end}
"""``on_end`` methods known only to read the span; others may access the SDK's internals."""


_DEAF = {SpanProcessor.on_end}
"""``on_end`` methods known to do nothing with spanhook's spans."""


def quiet(processor: type[SpanProcessor]) -> None:
    """Declare that ``processor`` does nothing when spanhook's spans start or end."""
    _QUIET.add(processor.on_start)
    _READERS.add(processor.on_end)
    _DEAF.add(processor.on_end)


def context_with(span: Span, before: Context) -> Context:
    """``set_span_in_context`` with one copy of the context instead of two."""
    return Context({**before, _KEY: span})


_NO_STATE = SpanContext(1, 2, is_remote=False).trace_state
_SAMPLED = int(TraceFlags.SAMPLED)
_TUPLE = tuple(SpanContext(1, 2, False, TraceFlags(1))) == (1, 2, False, TraceFlags(1), _NO_STATE, True)
"""Whether a span context is the known tuple; then one can be made from valid parts without further checks."""


class Opener:
    """Opens spans with one tracer.

    Args:
        tracer: The SDK's or any other; only the SDK's spans can be opened more cheaply.
    """

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        self.scope = attribute(tracer, "_instrumentation_scope")
        self.limits: Any = attribute(tracer, "_span_limits")
        self._lean = type(tracer) is Tracer and self.limits is not None and self._familiar()
        self._sampler: Any = attribute(tracer, "sampler")
        self._enabled: Callable[[], bool] = attribute(tracer, "_is_enabled", _always)  # SDK 1.39 has none
        self.processors: Any = None
        self.told: Any = None
        self._heard = True
        if self._lean:
            self._sampled_flags, self._root = self._root_decision()
            self._dropped_flags = TraceFlags(self._sampled_flags & ~TraceFlags.SAMPLED)
            self._root_flags = self._sampled_flags if self._root else self._dropped_flags
            self._random = type(tracer.id_generator) is RandomIdGenerator
            self._inherits = _inherits(self._sampler, "local")
            known = _TUPLE and self._random
            self._child_is_known, self._root_is_known = known and self._inherits, known and self._root is not None
            self._remote_flags = self._known_flags() if _inherits(self._sampler, "remote") else frozenset[int]()

    def _familiar(self) -> bool:
        """Whether this SDK's spans can be built as here, with no limits or metrics that prevent it."""
        limits = self.limits
        metered = os.environ.get(_INTERNAL_METRICS, "").strip().lower() == "true"
        fields = {name for name in vars(LeanSpan) if name.startswith("_")} | set(lean_span.__code__.co_names)
        return (
            not metered
            and limits.max_span_attribute_length is None
            and (limits.max_span_attributes or 0) >= _FEWEST_ATTRIBUTES
            and fields >= _EXPORTED
        )

    def _root_decision(self) -> tuple[TraceFlags, bool | None]:
        """Flags of a sampled root, and the sampler's decision on roots if it is always the same."""
        random = getattr(self.tracer.id_generator, "is_trace_id_random", None)
        flags = TraceFlags.SAMPLED
        if random is not None and random():
            flags |= getattr(TraceFlags, "RANDOM_TRACE_ID", 0)
        sampler = self._sampler
        if type(sampler) is ParentBased:
            sampler = getattr(sampler, "_root", None)
        return TraceFlags(flags), True if sampler is ALWAYS_ON else False if sampler is ALWAYS_OFF else None

    def _known_flags(self) -> frozenset[int]:
        """The flags of sampled parents in other processes that this SDK passes on as they are."""
        if hasattr(self.tracer.id_generator, "is_trace_id_random"):
            return frozenset((_SAMPLED, _SAMPLED | TraceFlags.RANDOM_TRACE_ID))
        return frozenset((_SAMPLED,))

    def open(
        self, name: str, before: Context, kind: SpanKind, attributes: dict[str, Any], *, plain: bool = False
    ) -> Span:
        """Start a span whose parent is that of ``before``. A lean span keeps ``attributes`` itself, not a copy.

        ``plain`` if the SDK is known to accept them as they are.
        """
        tracer = self.tracer
        if not self._lean:
            return tracer.start_span(name, before, kind, attributes)
        if getattr(tracer.span_processor, "_span_processors", None) is not self.processors:
            self._look_again(tracer.span_processor)
        if self._heard or not self._enabled() or not (plain or is_plain(attributes)):
            return tracer.start_span(name, before, kind, attributes)
        around: Any = before.get(_KEY)
        if around is None:
            if self._root_is_known and (trace_id := getrandbits(128)) and (span_id := getrandbits(64)):
                own = _new(SpanContext, (trace_id, span_id, False, self._root_flags, _NO_STATE, True))
                return lean_span(self, name, own, None, kind, attributes) if self._root else NonRecordingSpan(own)
            return self._root_span(name, before, kind, attributes)
        if type(around) is LeanSpan:
            parent = cast(SpanContext, around._context)  # valid, and of this process
            if self._child_is_known and parent[3] & _SAMPLED and (span_id := getrandbits(64)):
                own = _new(SpanContext, (parent[0], span_id, False, parent[3], parent[4], True))
                return lean_span(self, name, own, parent, kind, attributes)
        else:
            parent = get_current_span(before).get_span_context()
            if not parent.is_valid:
                return self._root_span(name, before, kind, attributes)
            if parent.is_remote:
                if parent.trace_flags not in self._remote_flags:
                    return tracer.start_span(name, before, kind, attributes)
                return lean_span(self, name, self._child_of(parent), parent, kind, attributes)
        if not self._inherits:
            return tracer.start_span(name, before, kind, attributes)
        if not parent.trace_flags & TraceFlags.SAMPLED:
            # Nothing inside an unsampled trace is sampled, so no new span is needed.
            return around if type(around) is NonRecordingSpan else NonRecordingSpan(parent)
        return lean_span(self, name, self._child_of(parent), parent, kind, attributes)

    def _child_of(self, parent: SpanContext) -> SpanContext:
        span_id = getrandbits(64) if self._random else self.tracer.id_generator.generate_span_id()
        if _TUPLE and span_id:
            return _new(SpanContext, (parent[0], span_id, False, parent[3], parent[4], True))
        return SpanContext(parent.trace_id, span_id, False, parent.trace_flags, parent.trace_state)

    def _root_span(self, name: str, before: Context, kind: SpanKind, attributes: dict[str, Any]) -> Span:
        ids, sampled, trace_state = self.tracer.id_generator, self._root, _NO_STATE
        trace_id, span_id = ids.generate_trace_id(), ids.generate_span_id()
        recording, whole = sampled, False
        if sampled is None:
            result = self._sampler.should_sample(before, trace_id, name, kind, attributes, ())
            sampled, recording = result.decision.is_sampled(), result.decision.is_recording()
            trace_state = _NO_STATE if result.trace_state is None else result.trace_state
            if recording and result.attributes is not None and result.attributes != attributes:
                attributes = dict(result.attributes)
                whole = not is_plain(attributes)
        flags = self._sampled_flags if sampled else self._dropped_flags
        if _TUPLE:
            context = _new(SpanContext, (trace_id, span_id, False, flags, trace_state, True))
        else:
            context = SpanContext(trace_id, span_id, False, flags, trace_state)
        if not recording:
            return NonRecordingSpan(context)
        span = lean_span(self, name, context, None, kind, attributes)
        if whole:
            span.complete()
        return span

    def _look_again(self, processor: Any) -> None:
        """Find out whether any processor does more than read ended spans; whenever one is added."""
        processors: tuple[SpanProcessor, ...] | None = getattr(processor, "_span_processors", None)
        hearing = [one for one in processors or () if not _is_in(_DEAF, _method(one, "on_end"))]
        is_only = type(processor) is SynchronousMultiSpanProcessor and len(hearing) == 1
        self.told = hearing[0] if is_only else processor
        self._heard = (
            processors is None
            or type(processor) not in _FORWARDING
            or any(
                not _is_in(_QUIET, _method(one, "on_start"))
                or not _is_in(_READERS, _method(one, "on_end"))
                or not _is_in(_QUIET_ENDINGS, _method(one, "_on_ending"))
                for one in processors
            )
        )
        self.processors = processors  # last, so that after an interrupt it is checked again


def _method(processor: SpanProcessor, name: str) -> Any:
    """The function that a processor's method is, its own if it was given one."""
    try:
        found = getattr(processor, name, None)
    except Exception:
        return processor  # not known, so it may do anything
    return attribute(found, "__func__", found)


def _is_in(known: Collection[Any], method: Any) -> bool:
    return any(method is one for one in known)


def _always() -> bool:
    return True


def _inherits(sampler: Any, parents: str) -> bool:
    """Whether a child is sampled if and only if its parent is, one of the ``local`` or the ``remote`` ones."""
    return (
        type(sampler) is ParentBased
        and getattr(sampler, f"_{parents}_parent_sampled", None) is ALWAYS_ON
        and getattr(sampler, f"_{parents}_parent_not_sampled", None) is ALWAYS_OFF
    )


_FORWARDING = (SynchronousMultiSpanProcessor, ConcurrentMultiSpanProcessor)
"""Processors that only delegate to others."""

_QUIET_ENDINGS = {
    getattr(one, "_on_ending", None)  # SDK 1.39 has none
    for one in (SpanProcessor, BatchSpanProcessor, SimpleSpanProcessor)
}
_EXPORTED = frozenset(vars(ReadableSpan("")))
"""The fields of the SDK's own readable span."""
