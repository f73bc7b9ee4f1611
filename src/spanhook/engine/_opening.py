"""Describes an operation that begins, and opens its span."""

from typing import Any

from opentelemetry.trace import INVALID_SPAN

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Adapter, Args, Attributes, Described, Kwargs, Record, make_encodable
from spanhook.telemetry import telemetry

_MOST = 256
"""How many descriptions are kept for an adapter."""


def alike(adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs) -> Described | None:
    """The description of calls that are like this one; ``None`` if it is to be described by itself."""
    if adapter.watch is None:
        return None
    try:
        key = adapter.watch(instance, args, kwargs)
    except Exception as error:
        internal.report("extract.watch", error)
        return None
    if key is None:
        return None
    try:
        known = adapter.known.get(key)
    except Exception:  # a value in it cannot be hashed
        return None
    if known is None:
        attributes = adapter.start(instance, args, kwargs)
        if attributes is None:
            return None
        plain = make_encodable(attributes)
        known = Described(attributes, plain, naming(adapter, attributes))
        if len(adapter.known) >= _MOST:
            adapter.known.clear()
        adapter.known[key] = known
    return known


def naming(adapter: Adapter, attributes: Attributes) -> str:
    """The name of a call's span; its operation is added to the attributes if the conventions know it."""
    operation = attributes.get(semconv.GEN_AI_OPERATION_NAME)
    if operation is None:
        operation = adapter.verb
        if operation in semconv.OPERATIONS:
            attributes[semconv.GEN_AI_OPERATION_NAME] = operation
    named = attributes.get(adapter.naming_key)
    begins = adapter.method or operation
    return f"{begins} {named}" if named else str(begins)


def open_span(op: Record, name: str, *, plain: bool) -> None:
    """Open the span of an operation that has begun. It is not yet current.

    Args:
        op: The operation.
        name: The span's name.
        plain: Whether the SDK accepts its attributes as they are.
    """
    told, names = op.attributes, telemetry.naming
    if not names.older or semconv.GEN_AI_REQUEST_TOP_K in told:
        told = names.told(op.kind, told)
    try:
        op.span = telemetry.opener.open(name, op.before, op.adapter.span_kind, told, plain=plain)
    except Exception as error:
        internal.report("span.start", error, lost=1)
        op.span = INVALID_SPAN
