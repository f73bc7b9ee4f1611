"""An SDK span of which only what is exported is there, until somebody asks for more; see ``spans``."""

import threading
from typing import Any, Protocol, cast

from opentelemetry.sdk.trace import SpanLimits, _Span
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode

from spanhook.fork import after_fork
from spanhook.model import class_of, clock

_PLAIN = frozenset((str, int, float, bool))
_STRINGS = frozenset((str,))


class Origin(Protocol):
    """What opened a span, and keeps what is the same for all that it opens."""

    tracer: Any
    scope: Any
    limits: Any


def fill(span: Span, attributes: dict[str, Any], *, plain: bool = False) -> None:
    """Set attributes on a recording span; ``plain`` if it is known that the SDK takes them as they are."""
    if type(span) is LeanSpan:
        span._attributes.update(attributes)
        if not plain and not is_plain(attributes):
            span.complete()
        return
    span.set_attributes(attributes)


def is_plain(attributes: dict[str, Any]) -> bool:
    """Whether every value is one that the SDK would take as it is."""
    for value in attributes.values():
        kind = class_of(value)
        if kind not in _PLAIN and not (kind is tuple and _STRINGS.issuperset(map(type, value))):
            return False
    return True


class LeanSpan(_Span):
    """An SDK span of which only what is exported is there; ``complete`` makes the rest.

    Every method of the SDK's span first reaches for its lock, which a lean span has not got, and completes it so.
    """

    _instrumentation_info = None
    _end_time = None
    _status = Status(StatusCode.UNSET)
    _events: Any = ()
    _links: Any = ()

    _opener: Origin
    _attributes: Any

    def complete(self) -> None:
        """Become an ordinary span of the SDK, with everything so far kept."""
        _complete(self)

    def __getattr__(self, name: str) -> Any:
        if name not in _WHOLE:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        _complete(self)  # no method: another thread may have completed it meanwhile
        return getattr(self, name)

    def end(self, end_time: int | None = None) -> None:
        if self._end_time is None:
            self._end_time = end_time if end_time is not None else clock.wall()
            self._opener.tracer.span_processor.on_end(self)


_completing = threading.RLock()
"""Of two threads that complete a span, the second would take away what the first has done to it since."""


def _renew() -> None:
    """A fork may have copied the lock while another thread held it."""
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
            attributes=span._attributes,
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
    """A lean span that starts now. Neither ``__new__`` nor ``__init__`` of the SDK's span is run."""
    span = object.__new__(LeanSpan)
    span._opener = opener
    span._name = name
    span._context = context
    span._parent = parent
    span._kind = kind
    span._attributes = attributes
    span._resource = opener.tracer.resource  # the SDK exchanges it in forked children
    span._instrumentation_scope = opener.scope
    span._start_time = clock.wall()
    return span


_WHOLE = frozenset(vars(_Span("", SpanContext(1, 1, is_remote=False), limits=SpanLimits())))
"""What a complete span has."""
