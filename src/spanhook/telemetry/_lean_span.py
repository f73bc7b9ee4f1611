"""An SDK span with only the exported parts, until more of it is accessed; see ``spans``."""

import threading
from typing import Any, Protocol, cast

from opentelemetry.sdk.trace import SpanLimits, _Span
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode

from spanhook.fork import after_fork
from spanhook.model import class_of, clock

_PLAIN = frozenset((str, int, float, bool))
_STRINGS = frozenset((str,))


class Origin(Protocol):
    """What opened a span; it keeps what is the same for all spans that it opens.

    Attributes:
        tracer, scope, limits: The tracer, and what its spans have in common.
        processors: The tracer's processors when they were last looked at.
        told: What an ended span goes to, as long as the tracer still has these processors.
    """

    tracer: Any
    scope: Any
    limits: Any
    processors: Any
    told: Any


def fill(span: Span, attributes: dict[str, Any], *, plain: bool = False) -> None:
    """Set attributes on a recording span; ``plain`` if the SDK is known to accept them as they are."""
    if type(span) is LeanSpan:
        span._attributes.update(attributes)
        if not plain and not is_plain(attributes):
            span.complete()
        return
    span.set_attributes(attributes)


def check(span: "LeanSpan") -> None:
    """Complete a span with attributes that the SDK would not accept as they are."""
    if not is_plain(span._attributes):
        span.complete()


def is_plain(attributes: dict[str, Any]) -> bool:
    """Whether every value is one that the SDK would accept as it is."""
    for value in attributes.values():
        kind = class_of(value)
        if kind not in _PLAIN and not (kind is tuple and _STRINGS.issuperset(map(type, value))):
            return False
    return True


class LeanSpan(_Span):
    """An SDK span with only the exported parts; ``complete`` creates the rest.

    Every method of the SDK's span first accesses its lock. A lean span has none, so the access completes it.
    """

    _instrumentation_info = None
    _end_time = None
    _status = Status(StatusCode.UNSET)
    _events: Any = ()
    _links: Any = ()

    _opener: Origin
    _attributes: Any

    def complete(self) -> None:
        """Become an ordinary SDK span, keeping everything set so far."""
        _complete(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _WHOLE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        _complete(self)  # not a method: another thread may have completed it meanwhile
        return getattr(self, name)

    def end(self, end_time: int | None = None) -> None:
        if self._end_time is None:
            opener = self._opener
            processor = opener.tracer.span_processor
            if getattr(processor, "_span_processors", None) is opener.processors:
                processor = opener.told
            # No interrupt comes from here on until the processor has been called.
            self._end_time = clock.wall() if end_time is None else end_time
            processor.on_end(self)


for _name, _value in {
    "events": (),
    "links": (),
    "dropped_attributes": 0,
    "dropped_events": 0,
    "dropped_links": 0,
}.items():
    setattr(LeanSpan, _name, _value)  # what the SDK's properties would find out each time a span is exported


_completing = threading.RLock()
"""Without it, if two threads completed a span, the second would undo what the first has since set."""


def _renew() -> None:
    """Replace the lock: a fork may have copied it while another thread held it."""
    global _completing
    _completing = threading.RLock()


after_fork("spans", _renew)


def _complete(span: LeanSpan) -> None:
    with _completing:
        if type(span) is not LeanSpan:
            return
        opener = span._opener
        whole = _Span(
            name=span._name,
            context=cast(SpanContext, span._context),
            parent=span._parent,
            sampler=opener.tracer.sampler,
            resource=span._resource,
            attributes=span._attributes.copy(),  # another thread may be adding to it
            kind=span._kind,
            span_processor=opener.tracer.span_processor,
            instrumentation_info=opener.tracer.instrumentation_info,
            limits=opener.limits,
            instrumentation_scope=opener.scope,
        )
        state = dict(whole.__dict__)
        state["_start_time"], state["_end_time"] = span._start_time, span._end_time
        vars(span).update(state)
        span.__class__ = _Span  # pyright: ignore[reportAttributeAccessIssue]


def lean_span(
    opener: Origin,
    name: str,
    context: SpanContext,
    parent: SpanContext | None,
    kind: SpanKind,
    attributes: dict[str, Any],
) -> LeanSpan:
    """A lean span that starts now. Neither ``__new__`` nor ``__init__`` of the SDK's span runs."""
    span = object.__new__(LeanSpan)
    span._opener = opener
    span._name = name
    span._context = context
    span._parent = parent
    span._kind = kind
    span._attributes = attributes
    span._resource = opener.tracer.resource  # the SDK replaces it in forked children
    span._instrumentation_scope = opener.scope
    span._start_time = clock.wall()
    return span


_WHOLE = frozenset(vars(_Span("", SpanContext(1, 1, is_remote=False), limits=SpanLimits())))
"""The attributes of a complete span."""
