"""Requests that come from elsewhere: what serves one continues the trace that came with it, and belongs to the run that
sent it if that is known.

The task that serves a request often began with another one, or with the connection, and so has its context.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from opentelemetry.context import Context
from opentelemetry.propagate import extract
from opentelemetry.trace import get_current_span

from spanhook.diagnostics import internal
from spanhook.engine._elsewhere import Elsewhere
from spanhook.engine.calls import Held, acall
from spanhook.model import Adapter, Args, Arrival, Identity, InHook, Kwargs, Record, ambient, current, shed
from spanhook.telemetry import context_with, get_context


async def arrive(
    read: Callable[[Any, Args, Kwargs], Arrival],
    adapter: Adapter,
    wrapped: Callable[..., Awaitable[Any]],
    instance: Any,
    args: Args,
    kwargs: Kwargs,
) -> Any:
    """``acall`` for a function that serves a request.

    Args:
        read: Reads where the request comes from.
        adapter, wrapped, instance, args, kwargs: As in ``acall``.
    """
    try:
        arrival = _arrival(read, instance, args, kwargs)
        with Elsewhere(*_origin(arrival, current.get(), get_context(), ambient.get())):
            return await acall(adapter, wrapped, instance, args, kwargs)
    except BaseException as error:
        shed(error)
        raise


def _arrival(read: Callable[[Any, Args, Kwargs], Arrival], instance: Any, args: Args, kwargs: Kwargs) -> Arrival:
    try:
        return read(instance, args, kwargs)
    except Exception as error:
        internal.report("extract.arrival", error)
        return Arrival({})


def _origin(arrival: Arrival, around: Held, before: Context, identity: Identity) -> tuple[Held, Context, Identity]:
    """What is current where a request is served: the enclosing operation, the context of its span, the identity.

    A request of another trace is no part of what happens to be current here.
    """
    context, sender = _extracted(arrival, before), _operation(arrival.sender)
    is_told, trace = context is not before, get_current_span(context).get_span_context()
    if is_told and _continues(get_current_span(before), trace.span_id):
        context = before
    if sender is not None and not sender.ended:
        if not trace.is_valid or trace.trace_id != sender.span.get_span_context().trace_id:
            context = context_with(sender.span, sender.before)
        return arrival.sender, context, sender.ambient
    op = _operation(around)
    if not is_told or op is None or op.span.get_span_context().trace_id == trace.trace_id:
        return around, context, identity
    return None, context, identity


def _continues(span: Any, span_id: int) -> bool:
    """Whether the current span is somebody else's for the same request: then that is where the trace goes on."""
    parent = getattr(span, "parent", None)
    return parent is not None and parent.span_id == span_id


def _operation(held: Any) -> Record | None:
    op = held.op if isinstance(held, InHook) else held
    return op if type(op) is Record else None


def _extracted(arrival: Arrival, before: Context) -> Context:
    """The context with the trace and the baggage that came with a request; ``before`` if none did, or none that can be
    read.
    """
    if not arrival.carrier:
        return before
    try:
        return extract(arrival.carrier, before)
    except Exception:  # it is the sender's mistake
        return before
