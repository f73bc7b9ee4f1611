"""The end of an operation: what its call has returned or raised, its report, and what its caller gets.

``beginning`` has its start. Knows nothing of who makes the call or waits for it; see ``calls`` and ``streams``.
"""

from collections.abc import Callable
from typing import Any

from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.engine._native_errors import native
from spanhook.engine.attempts import is_attempt
from spanhook.errors import AttemptStopped, Reject, RunStopped, Unwound
from spanhook.gating import Registry, count_decision, in_shadow, publish, tell_decided, tell_ended
from spanhook.model import Attributes, EndDetails, Record, Usage, clock, joined, make_encodable, shed
from spanhook.telemetry import report, telemetry

registry = Registry()
listeners: list[Callable[[Record], None]] = []
"""Called with every operation that has ended; for the console and ``spanhook.testing``."""


in_shadow.append(lambda op, decision: tell_decided(op, decision, registry.auditors))

foreign: dict[int, Record] = {}
"""Operations represented by spans of other instrumentations, by span id; see ``processor``."""


# ----------------------------------------------------------------------------------------------- outcome


def settle(op: Record, result: Any) -> None:
    """The call returned ``result``: read what it reports."""
    if op.plan is not None:
        op.returned_ns = clock.now()
    if not op.called and op.decided.answered:  # a hook has answered in the place of its body
        return
    op._result = result
    response = op.adapter.reading.response
    if response is not None:
        read_response(op, response, result)
    if op.ending.handled is not None:
        op.error = op.ending.handled


def fail(op: Record, error: BaseException) -> None:
    """The call raised ``error``: read what it reports nevertheless."""
    returned(op)
    shed(error)
    if op.decided.answered and not op.called and isinstance(error, Exception | Unwound):
        return  # as in `settle`
    op.error = op.looking.stopped or error_of(op, error)
    if op.ending.handled is not None:
        op.ending.handled = None
    if op.adapter.reading.failure is not None:
        try:
            note_response(op, *op.adapter.reading.failure(op.instance, op.args, op.kwargs, error))
        except Exception as failure:
            internal.report("extract.failure", failure, lost=1)


def error_of(op: Record, error: BaseException) -> BaseException:
    """What a call failed with: both, if its library has made an exception of its own of a rejection inside of it."""
    if op.adapter.editing.refusal is None or isinstance(error, Reject):
        return error
    try:
        reject = op.adapter.editing.refusal(error)
    except Exception as failure:
        internal.report("extract.refusal", failure)
        return error
    return error if reject is None else joined(reject, error)


def returned(op: Record) -> None:
    """The call has returned, or its stream has ended: note when."""
    if op.plan is not None:
        op.returned_ns = clock.now()


def read_response(op: Record, response: Callable[[Any], tuple[Attributes, Usage | None]], result: Any) -> None:
    """Keep what a result reports about itself, as ``response`` reads it."""
    try:
        note_response(op, *response(result))
    except Exception as error:
        internal.report("extract.response", error, lost=1)


def note_response(op: Record, attributes: dict[str, Any], used: Usage | None) -> None:
    """Keep end attributes and usage, of a result or a stream."""
    if used is not None:  # first: if the attributes cannot be read, what was used still counts
        if used.source == "provider":
            used.source = op.adapter.reading.source
        op.own_usage = used
    if not make_encodable(attributes):
        op.part(EndDetails).needs_encoding = True
    below = op.end_attributes  # a transport's report: it knows more than the framework above it
    op.end_attributes = {**below, **attributes} if below else attributes


def end(op: Record) -> None:
    """End the span and report the operation, exactly once."""
    if next(op.endings):  # only one thread gets 0
        return
    op.end_ns = op.end_ns or clock.now()
    op.ended = True
    op.runner = None  # it refers to the operation
    if op.plan is not None and op.plan.heard and not op.published:
        op.published = True
        if op.looking.unheard:  # its call has not come to its body
            publish(op, "pre", count_decision)
        publish(op, op.phase, count_decision)
    if op.decided.records and not op.summed:
        decided = [one.decision for one in op.decided.records]
        all_decided = op.run.__dict__.setdefault("decisions", [])
        op.summed = True
        all_decided.extend(decided)
    if op.run.pending and op.parent is None and not reaper.here():
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
    if listeners:
        _notify(op)
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


def _notify(op: Record) -> None:
    """Call the listeners that are left."""
    op.recorded = max(op.recorded, 2)
    for listener in listeners[op.recorded - 2 :]:
        try:
            listener(op)
        except Exception as error:
            internal.report("listener", error)
        op.recorded += 1


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
    if error is None or error is op.ending.handled:
        return op.result
    if isinstance(error, Reject):
        instead = _instead_of(op, error)
        if not isinstance(instead, BaseException):
            return instead
        error = instead
    # Raised as the library raised it: a plain `raise` here would replace its __context__ with whatever the caller
    # happens to be handling.
    context = error.__context__
    try:
        raise error
    finally:
        object.__setattr__(error, "__context__", context)  # assigning it fails for frozen dataclasses
        del error, op


def _instead_of(op: Record, reject: Reject) -> Any:
    """What the caller of a refused operation gets in place of a ``Reject``: an exception to raise, or else a result."""
    root, adapter = op.root, op.adapter
    error: BaseException = reject
    if root.run.stop is not None and "boundary" not in adapter.traits:
        if not root.ended and _is_inside(op):
            return RunStopped(root.run.stop)
    elif (op.decided.refused or "boundary" in adapter.traits) and adapter.editing.rejected is not None:
        try:
            result = adapter.editing.rejected(op.instance, op.args, op.kwargs, reject.reason)
        except Exception as failure:
            internal.report("extract.rejected", failure)
        else:
            if result is not None and not isinstance(result, BaseException):
                return result
            error = reject if result is None else result
    if isinstance(error, Reject):
        error = native(op, error)
        if op.decided.refused and is_attempt(op):
            return AttemptStopped(error)
    return error
