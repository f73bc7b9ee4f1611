"""Which trace an event belongs to, kept as text until it is delivered (https://www.w3.org/TR/trace-context/)."""

from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_FIELD = "traceparent"
_propagator = TraceContextTextMapPropagator()


def traceparent(context: Context | None = None) -> str:
    """The span of a context, by default of the current one, as text; empty if there is none."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier, context)
    return carrier.get(_FIELD, "")


def context_of(text: str) -> Context:
    """A context with the span that ``traceparent`` has written, and nothing else."""
    return _propagator.extract({_FIELD: text} if text else {}, Context())
