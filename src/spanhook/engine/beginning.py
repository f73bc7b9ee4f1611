"""The start of an operation: what encloses it, which hooks apply to it, what it is, and its span.

Knows nothing of who makes the call; see ``calls`` and ``streams``.
"""

from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, get_current_span

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.engine.absorption import Absorbed, Part, absorbed, serves
from spanhook.engine.lifecycle import foreign, registry
from spanhook.gating import Plan, again
from spanhook.model import (
    ASKING_FOR_RUNS,
    NOBODY,
    Adapter,
    Args,
    Attributes,
    CallContext,
    Described,
    InHook,
    Kwargs,
    Looking,
    Record,
    ambient,
    clock,
    current,
    from_baggage,
    make_encodable,
    note_gated,
)
from spanhook.telemetry import get_context, telemetry

Beginning = Record | Absorbed | Part | None
"""What a call is: an operation, a part of another one, or none."""


_MOST = 256
"""How many descriptions are kept for an adapter."""


class _Seen:
    """Attributes:
    any: Whether an operation has begun in this process.
    """

    any = False


begun = _Seen()


def begin(
    adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, *, traced: bool = True, alone: bool = False
) -> Beginning:
    """Start an operation, one without a parent if ``alone``; ``None`` if the call is not one.

    Its span is started, unless it is not to be ``traced`` yet, but not yet current, and no hook has run.
    """
    held, before = current.get(), get_context()
    parent, in_hook = (None, False) if held is None and not foreign else _enclosing(held, before, alone=alone)
    plans = registry.outer if parent is None or parent.kind in ASKING_FOR_RUNS else registry.plans
    plan = None if in_hook else plans.get(adapter.kind)
    if "on_demand" in adapter.traits and _is_unwanted(plan):
        return None
    description = described(adapter, instance, args, kwargs)
    if description is None:
        return None
    attributes, plain, name = description
    if type(held) is Record and held.adapter.nesting.is_framework:
        transport = absorbed(held, adapter, instance, args, kwargs, attributes, plain=plain)
        if transport is not None:
            return transport
    op = Record(adapter, attributes, instance, args, kwargs, parent, ambient.get(), before, clock.now(), held)
    begun.any = True
    if name is None:
        op.undescribed, name = True, naming(adapter, attributes)
    if plan is not None:
        _hook(op, plan)
    elif in_hook:
        op.in_hook = True
    _belong(op, held)
    if traced:  # last: an interrupt before this leaves nothing behind, and nothing is called after it
        open_span(op, name, plain=plain)
    return op


def _enclosing(held: Record | InHook | None, before: Context, *, alone: bool) -> tuple[Record | None, bool]:
    """The operation that encloses a new one, and whether one of its hooks begins it: the innermost that has not ended,
    of those here, or of a foreign span.
    """
    if type(held) is Record and not held.ended:
        return held, held.in_hook
    parent = held.op if isinstance(held, InHook) else held
    while parent is not None and parent.ended:
        parent = parent.parent
    if parent is None and foreign and not alone:
        parent = foreign.get(get_current_span(before).get_span_context().span_id)
    return parent, held is not None and held.in_hook


def _is_unwanted(plan: Plan | None) -> bool:
    """Whether neither hooks nor the settings ask for operations of a kind that is made on demand."""
    return plan is None and not telemetry.settings.steps


def _hook(op: Record, plan: Plan) -> None:
    """Put the hooks of a plan around an operation."""
    adapter, op.plan = op.adapter, plan
    if not plan.hooked:
        op.coverage = "observed"
        return
    op.coverage = "best_effort" if "made_elsewhere" in adapter.traits else "enforced"
    if adapter.nesting.is_framework or adapter.reenters:
        note_gated(op)
    later = None if plan.early is None or adapter.receiving is None else adapter.receiving.later
    if later is not None:
        # Hooks that act once do it at the last look at the call, if that is sure to be taken.
        try:
            if later(op.instance, op.args, op.kwargs):
                op.plan, op.part(Looking).later = plan.early, plan
        except Exception as error:
            internal.report("extract.received", error)


def _belong(op: Record, held: Record | InHook | None) -> None:
    """Note whose operation it is, and what it takes from those around it: the agent, the identity, a refused run."""
    adapter, parent, stop = op.adapter, op.parent, None
    if parent is not None:
        op.agent, stop = parent.agent, op.run.stop
        if "boundary" in adapter.traits and serves(parent, op):
            op.serves = True
    elif telemetry.settings.trust_baggage:
        _trust(op)
    if adapter.kind == "agent.invoke":
        op.agent = op.attributes.get(adapter.naming_key) or ""
    if adapter.context is not None:
        _identify(op, adapter.context)
    if held is not parent and type(held) is Record and held.ended:
        stop = stop or held.run.stop  # of a run that has ended, and that what it started goes on without
    if stop is not None and not op.in_hook:
        op.error = again(stop)


def _identify(op: Record, context: CallContext) -> None:
    """Ask the library for the call's identity now, because its answer may change later."""
    if context.identity is None or (op.parent is not None and _is_authenticated(op.root)):
        return
    try:
        op.given = context.identity(op.instance, op.args, op.kwargs)
    except Exception as error:
        internal.report("extract.identity", error)


def _is_authenticated(root: Record) -> bool:
    """Whether a server has authenticated the user of a run."""
    context = root.adapter.context
    return context is not None and context.authenticates and bool(root.given and root.given.get("user_id"))


def _trust(op: Record) -> None:
    """Take the identity from the baggage, if the application has set none."""
    if op.ambient is NOBODY:
        try:
            op.ambient = from_baggage(op.before)
        except Exception as error:
            internal.report("extract.identity", error)


# ----------------------------------------------------------------------------------------------- what it is


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
