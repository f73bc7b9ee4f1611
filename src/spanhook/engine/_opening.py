"""Describes an operation that begins, and opens its span."""

from typing import Any

from opentelemetry.trace import INVALID_SPAN

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Adapter, Args, Attributes, Described, Kwargs, Record, make_encodable
from spanhook.telemetry import telemetry

_MOST = 256
"""How many descriptions are kept for an adapter."""


def described(
    adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs
) -> tuple[Attributes, bool, str | None] | None:
    """What a call is: its own attributes, whether the SDK accepts them as they are, and the name of its span.

    Returns:
        ``None`` if it is not an operation. The name is ``None`` if it cannot be described: any call is gated.
    """
    known = None
    try:
        if adapter.watch is not None:
            key = None
            try:
                key = adapter.watch(instance, args, kwargs)
            except Exception as error:
                internal.report("extract.watch", error)
            try:
                known = adapter.known.get(key)
            except Exception:  # a value in it cannot be hashed
                key = None
            if known is None and key is not None:
                known = _remembered(adapter, key, instance, args, kwargs)
        attributes = adapter.start(instance, args, kwargs) if known is None else known.attributes.copy()
        if attributes is None:
            return None
        if adapter.vary is not None and adapter.vary(attributes, instance, args, kwargs):
            known = None
        if known is not None:
            return attributes, known.plain, known.name
        return attributes, make_encodable(attributes), naming(adapter, attributes)
    except Exception as error:
        internal.report("extract.start", error)
        return {}, True, None


def _remembered(adapter: Adapter, key: Any, instance: Any, args: Args, kwargs: Kwargs) -> Described | None:
    """The description of all calls that have this key, made from the first of them."""
    attributes = adapter.start(instance, args, kwargs)
    if attributes is None:
        return None
    plain = make_encodable(attributes)
    if len(adapter.known) >= _MOST:
        adapter.known.clear()
    known = adapter.known[key] = Described(attributes, plain, naming(adapter, attributes))
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
