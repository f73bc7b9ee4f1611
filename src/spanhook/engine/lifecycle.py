"""One operation from start to end: span, identity, usage, outcome.

Knows nothing of who makes the call or waits for it; see ``calls`` and ``streams``.
"""

from collections.abc import Callable
from typing import Any

from opentelemetry.trace import get_current_span

from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.engine._native_errors import native
from spanhook.engine._opening import alike, naming, open_span
from spanhook.engine.absorption import Absorbed, Part, absorbed, serves
from spanhook.engine.attempts import is_attempt
from spanhook.errors import AttemptStopped, Reject, RunStopped, Unwound
from spanhook.gating import Plan, Registry, again, count_decision, in_shadow, publish, tell_decided, tell_ended
from spanhook.model import (
    ASKING_FOR_RUNS,
    NOBODY,
    Adapter,
    Args,
    InHook,
    Kwargs,
    Record,
    Usage,
    ambient,
    clock,
    current,
    from_baggage,
    joined,
    make_encodable,
    note_gated,
    shed,
)
from spanhook.telemetry import get_context, report, telemetry

registry = Registry()
listeners: list[Callable[[Record], None]] = []
"""Called with every operation that has ended; for the console and ``spanhook.testing``."""


in_shadow.append(lambda op, decision: tell_decided(op, decision, registry.auditors))

foreign: dict[int, Record] = {}
"""Operations represented by spans of other instrumentations, by span id; see ``processor``."""


# ----------------------------------------------------------------------------------------------- start


def begin(
    adapter: Adapter, instance: Any, args: Args, kwargs: Kwargs, *, traced: bool = True, alone: bool = False
) -> Record | Absorbed | Part | None:
    """Start an operation, one without a parent if ``alone``; ``None`` if the call is not one.

    Its span is started, unless it is not to be ``traced`` yet, but not yet current, and no hook has run.
    """
    held = current.get()
    kind = adapter.kind
    parent: Record | None
    if held is None:
        plan = registry.outer.get(kind)
        parent, in_hook = None, False
    else:
        plan = registry.plans.get(kind)
        parent, in_hook = (held.op, True) if isinstance(held, InHook) else (held, held.in_hook)
        if in_hook:
            plan = None
    if adapter.on_demand and plan is None and not telemetry.settings.steps:
        return None
    described, plain, name, varied = True, False, "", False
    try:
        known = alike(adapter, instance, args, kwargs)
        if known is None:
            attributes = adapter.start(instance, args, kwargs)
        else:
            attributes, plain, name = known.attributes.copy(), known.plain, known.name
        varied = (
            adapter.vary is not None and attributes is not None and adapter.vary(attributes, instance, args, kwargs)
        )
    except Exception as error:
        internal.report("extract.start", error)
        attributes, described, name, varied = {}, False, "", True  # still an operation: any call is gated
    if attributes is None:
        return None
    if varied or not name:
        plain = make_encodable(attributes)
    latch = None
    if parent is not None:
        if held is parent and parent.adapter.model_layer:
            transport = absorbed(parent, adapter, instance, args, kwargs, attributes)
            if transport is not None:
                if not plain:
                    parent.odd = True
                return transport
        while parent is not None and parent.ended:
            latch = latch or parent.latch
            parent = parent.parent
    before = get_context()
    if parent is None and foreign and not alone:
        parent = foreign.get(get_current_span(before).get_span_context().span_id)
    if not in_hook and held is not None and (parent is None or parent.kind in ASKING_FOR_RUNS):
        plan = registry.outer.get(kind)  # what it asks for may be a run
    elif not in_hook and held is None and parent is not None:
        plan = registry.plans.get(kind)
    op = Record(adapter, attributes, instance, args, kwargs, parent, ambient.get(), before, clock.now(), held)
    if not name:
        name = naming(adapter, attributes)
    if not described:
        op.undescribed = True
    if plan is not None:
        op.plan = plan
        op.coverage = ("best_effort" if adapter.made_elsewhere else "enforced") if plan.hooked else "observed"
        if (adapter.model_layer or adapter.reenters) and plan.hooked:
            note_gated(op)
        if plan.early is not None and adapter.received_later is not None:
            _wait(op, plan, plan.early)
    elif in_hook:
        op.in_hook = True
    if kind == "agent.invoke":
        op.agent = attributes.get(adapter.naming_key) or ""
    elif parent is not None:
        op.agent = parent.agent
    if parent is None and telemetry.settings.trust_baggage:
        _trust(op)
    if adapter.identity is not None:
        _identify(op)
    if parent is not None and not in_hook:
        latch = latch or op.root.latch  # also of an ended run: what it started may outlive it
    if latch is not None and not in_hook:
        op.error = again(latch)
    if adapter.boundary and parent is not None and serves(parent, op):
        op.serves = True
    if traced:  # last: an interrupt before this leaves nothing behind, and nothing is called after it
        open_span(op, name, plain=plain)
    return op


def _wait(op: Record, plan: Plan, early: Plan) -> None:
    """Leave hooks that act once to the last look at the call, if it is sure to be taken."""
    adapter = op.adapter
    assert adapter.received_later is not None
    try:
        if adapter.received_later(op.instance, op.args, op.kwargs):
            op.plan, op.later = early, plan
    except Exception as error:
        internal.report("extract.received", error)


def _identify(op: Record) -> None:
    """Ask the library for the call's identity now, because its answer may change later."""
    adapter = op.adapter
    assert adapter.identity is not None
    root = op.root
    if root is not op and root.adapter.vouches and root.given and root.given.get("user_id"):
        return
    try:
        op.given = adapter.identity(op.instance, op.args, op.kwargs)
    except Exception as error:
        internal.report("extract.identity", error)


def _trust(op: Record) -> None:
    """Take the identity from the baggage, if the application has set none."""
    if op.ambient is NOBODY:
        try:
            op.ambient = from_baggage(op.before)
        except Exception as error:
            internal.report("extract.identity", error)


def opens(adapter: Adapter, instance: Any) -> bool:
    """Whether this is the stream with which the enclosing operation's call begins."""
    op = current.get()
    if type(op) is not Record or op.adapter.layer != adapter.opening_of or op.instance is not instance or op.opened:
        return False
    op.opened = True
    return op.called and not op.ended


# ----------------------------------------------------------------------------------------------- outcome


def settle(op: Record, result: Any) -> None:
    """The call returned ``result``: read what it reports."""
    if op.plan is not None:
        op.returned_ns = clock.now()
    if op.short_circuited and not op.called:  # a hook has answered in the place of its body
        return
    op._result = result
    try:
        attributes, used = op.adapter.response(result)
    except Exception as error:
        internal.report("extract.response", error, lost=1)
    else:
        note_response(op, attributes, used)
    if op.handled is not None:
        op.error = op.handled


def fail(op: Record, error: BaseException) -> None:
    """The call raised ``error``: read what it reports nevertheless."""
    returned(op)
    shed(error)
    if op.short_circuited and not op.called and isinstance(error, Exception | Unwound):
        return  # as in `settle`
    op.error, op.handled = op.stopped or error_of(op, error), None
    if op.adapter.failure is not None:
        try:
            attributes, used = op.adapter.failure(op.instance, op.args, op.kwargs, error)
        except Exception as failure:
            internal.report("extract.failure", failure, lost=1)
            return
        note_response(op, attributes, used)


def error_of(op: Record, error: BaseException) -> BaseException:
    """What a call failed with: both, if its library has made an exception of its own of a rejection inside of it."""
    if op.adapter.refusal is None or isinstance(error, Reject):
        return error
    try:
        reject = op.adapter.refusal(error)
    except Exception as failure:
        internal.report("extract.refusal", failure)
        return error
    return error if reject is None else joined(reject, error)


def returned(op: Record) -> None:
    """The call has returned, or its stream has ended: note when."""
    if op.plan is not None:
        op.returned_ns = clock.now()


def note_response(op: Record, attributes: dict[str, Any], used: Usage | None) -> None:
    """Keep end attributes and usage, of a result or a stream."""
    if not make_encodable(attributes):
        op.odd = True
    below = op.end_attributes  # a transport's report: it knows more than the framework above it
    op.end_attributes = {**below, **attributes} if below else attributes
    if used is not None:
        op.own_usage = used


def end(op: Record) -> None:
    """End the span and report the operation, exactly once."""
    if next(op.endings):  # only one thread gets 0
        return
    op.end_ns = op.end_ns or clock.now()
    op.ended = True
    if op.plan is not None and op.plan.heard and not op.published:
        op.published = True
        if op.unheard:  # its call has not come to its body
            publish(op, "pre", count_decision)
        publish(op, op.phase, count_decision)
    if op.decisions and not op.summed:
        decided, all_decided = [one.decision for one in op.decisions], op.root.__dict__.setdefault("run_decisions", [])
        op.summed = True
        all_decided.extend(decided)
    if op.pending and op.parent is None and not reaper.here():
        # Operations dropped inside the run are reported first, so that the run includes them.
        op.end_time_ns = clock.wall()
        op.handed = True
        reaper.put((_tell, op))
    else:
        _tell(op)


def _tell(op: Record) -> None:
    try:
        report(op, telemetry)
    except Exception as error:
        internal.report("report", error, lost=1)
    for listener in listeners[op.heard :] if op.heard else listeners:
        try:
            listener(op)
        except Exception as error:
            internal.report("listener", error)
        op.heard += 1
    for auditor in registry.auditors:
        audited: set[int] = op.__dict__.setdefault("audited", set())
        if id(auditor.hook) in audited:  # an interrupt came between the two
            continue
        try:
            tell_ended(op, auditor)
        except Exception as error:
            internal.report("auditor", error, lost=1)
        audited.add(id(auditor.hook))
    op.reported = True


def _is_inside(op: Record) -> bool:
    """Whether a live operation that spanhook made encloses this one, and so turns what stops the run into a ``Reject``.

    Whoever made a foreign span knows nothing of that.
    """
    around = op.parent
    while around is not None and (around.foreign or around.ended):
        around = around.parent
    return around is not None


def outcome(op: Record) -> Any:
    """Return or raise what the caller of an ended operation gets; a refused coroutine function may get an awaitable."""
    error = op.error
    if error is None or error is op.handled:
        return op.result
    if isinstance(error, Reject):
        root, adapter = op.root, op.adapter
        if root.latch is not None and not adapter.boundary:
            if not root.ended and _is_inside(op):
                raise RunStopped(root.latch) from None
        elif (op.decided or adapter.boundary) and adapter.rejected is not None:
            try:
                result = adapter.rejected(op.instance, op.args, op.kwargs, error.reason)
            except Exception as failure:
                internal.report("extract.rejected", failure)
            else:
                if isinstance(result, BaseException):
                    error = result
                elif result is not None:
                    return result
        if isinstance(error, Reject):
            error = native(op, error)
            if op.decided and is_attempt(op):
                raise AttemptStopped(error) from None
    # Raised as the library raised it: a plain `raise` here would replace its __context__ with whatever the caller
    # happens to be handling.
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context
        del error, op
