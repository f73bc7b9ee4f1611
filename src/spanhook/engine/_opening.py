"""Opens the span of an operation."""

from opentelemetry.trace import INVALID_SPAN

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Record
from spanhook.telemetry import telemetry


def open_span(op: Record, *, plain: bool) -> None:
    """Open the span of an operation that has begun. It is not yet current.

    Args:
        op: The operation.
        plain: Whether the SDK accepts its attributes as they are.
    """
    adapter, attributes = op.adapter, op.attributes
    told = telemetry.naming.told(op.kind, attributes)
    operation = adapter.method or attributes.get(semconv.GEN_AI_OPERATION_NAME) or adapter.verb
    named = attributes.get(adapter.naming_key)
    try:
        op.span = telemetry.opener.open(
            f"{operation} {named}" if named else operation, op.before, adapter.span_kind, told, plain=plain
        )
    except Exception as error:
        internal.report("span.start", error, lost=1)
        op.span = INVALID_SPAN
