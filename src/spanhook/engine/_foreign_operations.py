"""Operations represented by spans of other instrumentations, from start to end.

A span directly inside an operation for the same call is no operation: it only reports usage to that one.
"""

import weakref
from collections.abc import Mapping
from typing import Any, cast

from opentelemetry import context as otel_context
from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.trace import StatusCode

from spanhook import semconv
from spanhook.concurrency import reaper
from spanhook.diagnostics import internal
from spanhook.engine._completion import finish, interrupted
from spanhook.engine._gates import passes, run_rest
from spanhook.engine._pending import await_end
from spanhook.engine.absorption import absorbed_span, span_ended
from spanhook.engine.beginning import begun
from spanhook.engine.foreign import described, usage_of
from spanhook.engine.lifecycle import end, foreign
from spanhook.errors import Reject, RunStopped
from spanhook.gating import Registry, again
from spanhook.model import (
    OPERATION_NAMES,
    Adapter,
    Args,
    Editing,
    InHook,
    InnerCalls,
    Kwargs,
    Record,
    ambient,
    clock,
    current,
)
from spanhook.semconv import Kind
from spanhook.telemetry import account, context_with, get_context, mark, set_context, telemetry


def _known(_instance: Any, _args: Args, _kwargs: Kwargs) -> dict[str, Any]:
    return {}


def _no_answer(_instance: Any, _args: Args, _kwargs: Kwargs, _value: Any) -> Any:
    raise TypeError("a call that another instrumentation makes cannot be answered, only refused")


_ADAPTERS: Mapping[Kind, Adapter] = {
    kind: Adapter(
        kind=kind,
        layer="foreign",
        start=_known,
        editing=Editing(answer=_no_answer),
    )
    for kind in semconv.KINDS
}


class Live:
    """Operations for unended spans of other instrumentations, by span id."""

    def __init__(self) -> None:
        self._absorbed: dict[int, Record] = {}

    def absorb(self, span: Span, kind: Kind, scope: str) -> bool:
        """Whether the span is for the call of the directly enclosing operation, which is then told how the span
        ends.
        """
        held, around = current.get(), span.parent
        op = foreign.get(around.span_id) if around is not None else None
        if op is None and isinstance(held, Record):
            op = held
        if op is None or not absorbed_span(op, kind, scope, described(span.attributes or {})):
            return False
        span_id = span.get_span_context().span_id
        self._absorbed[span_id] = op
        weakref.finalize(span, self._forget, span_id, op)
        return True

    def _forget(self, span_id: int, op: Record) -> None:
        """A span is gone. Providers with fixed ids may reuse its id for another span, which may be absorbed by now."""
        if self._absorbed.get(span_id) is op:
            del self._absorbed[span_id]

    def begin(self, span: Span, hooks: Registry, kind: Kind, scope: str) -> Record:
        """Create an operation for a span that was just started."""
        held = current.get()
        parent = held.op if isinstance(held, InHook) else held
        around = span.parent
        if around is not None and around.span_id in foreign:
            parent = foreign[around.span_id]
        attributes = described(span.attributes or {})
        before = otel_context.get_current()
        op = Record(_ADAPTERS[kind], attributes, None, (), {}, parent, ambient.get(), before, clock.now())
        begun.any = True
        op.agent = op.name if kind == "agent.invoke" else parent.agent if parent is not None else ""
        operation = OPERATION_NAMES.get(kind, kind)
        if operation in semconv.OPERATIONS:
            attributes.setdefault(semconv.GEN_AI_OPERATION_NAME, operation)
        op.span, op.foreign, op.held = span, True, held
        op.part(InnerCalls).spans = {scope: 0}
        if isinstance(held, InHook) or (parent is not None and parent.in_hook):
            op.in_hook = True
        elif plan := (hooks.outer if parent is None else hooks.plans).get(kind):
            op.plan, op.coverage = plan, "best_effort"
        latch = op.run.stop
        if latch is not None and not op.in_hook:
            op.error = again(latch)
        if op.plan is not None:
            span.set_attributes({semconv.KIND: kind, semconv.COVERAGE: op.coverage})
        span_id = span.get_span_context().span_id
        self._absorbed.pop(span_id, None)
        foreign[span_id] = op
        return op

    def clear(self) -> None:
        """Discard the operations; spans that end from now on are ignored."""
        foreign.clear()

    def gate(self, op: Record) -> None:
        """Run the gates; their outcome is in ``op.error``. If they refuse, ``on_error`` hooks have run."""
        try:
            try:
                set_context(context_with(op.span, op.before))
                current.set(op)
                if not passes(op):
                    run_rest(op)
            finally:
                try:
                    set_context(op.before)
                finally:
                    current.set(op.held)
        except BaseException as error:
            op.ended = True
            reaper.put((interrupted, op, False, None, error))
            await_end(op)
            raise
        op.called = True  # the call may be made whatever the gates say

    def attempted(self, op: Record) -> None:
        """A refusal is not raised, because it would be ignored: the call goes on, and so does the span."""
        try:
            mark(op, telemetry)
        except Exception as error:
            internal.report("report.span", error)

    def refused(self, op: Record) -> None:
        """A refusal is raised, and the span no longer belongs to its owner.

        It is known to have held if an enclosing operation of ours ends with this same rejection. Otherwise the call
        counts as made.
        """
        foreign.pop(op.span.get_span_context().span_id, None)
        ended, refusal = clock.wall(), op.error

        def tell(error: BaseException | None) -> None:
            assert refusal is not None
            if leaves_with(error, refusal):
                op.called = False
            else:
                op.status = "error"
            account(op)
            end(op)
            op.span.end(ended)

        around = op.parent
        while around is not None and (around.foreign or around.ended):
            around = around.parent
        if around is None:
            tell(None)
        else:
            around.__dict__.setdefault("attempts", []).append(tell)

    def knows(self, span: ReadableSpan) -> bool:
        """Whether there is anything to do when the span ends."""
        if not foreign and not self._absorbed:
            return False
        context = span.get_span_context()
        return context is not None and (context.span_id in foreign or context.span_id in self._absorbed)

    def end(self, span: ReadableSpan) -> None:
        """The span has ended: run the hooks after the call."""
        context = span.get_span_context()
        span_id = context.span_id if context is not None else 0
        around = self._absorbed.pop(span_id, None)
        failed = span.status.status_code is StatusCode.ERROR
        attributes = dict(span.attributes or {})
        if around is not None:
            span_ended(around, scope_of(span), usage_of(attributes), failed=failed)
            return
        op = foreign.get(span_id)
        if op is None or op.ended:
            return
        before, held = get_context(), current.get()
        try:
            try:
                foreign.pop(span_id, None)
                op.attributes.update(described(attributes))
                op.end_attributes = attributes
                op.error = ForeignError(span.status.description or "") if failed else None
                op.own_usage = usage_of(attributes)
                if op.coverage is not None and not op.decided.refused:
                    op.coverage = "observed"
                set_context(context_with(op.span, op.before))
                current.set(op)
                finish(op)
            finally:
                try:
                    set_context(before)
                finally:
                    current.set(held)
        except BaseException as error:
            op.ended = True
            if not op.reported and not op.handed:
                reaper.put((interrupted, op, False, None, error))
                await_end(op)
            raise


def leaves_with(error: BaseException | None, refusal: BaseException) -> bool:
    """Whether an operation ends with this refusal: directly, as a cause, in a group, or as the refusal of the run."""
    while error is not None:
        if error is refusal:
            return True
        if isinstance(error, RunStopped):
            return isinstance(refusal, Reject) and refusal.scope == "run"
        if isinstance(error, BaseExceptionGroup):
            group = cast("BaseExceptionGroup[BaseException]", error)
            return any(leaves_with(one, refusal) for one in group.exceptions)
        error = error.__cause__
    return False


def scope_of(span: ReadableSpan) -> str:
    """The name of a span's instrumentation scope."""
    scope = span.instrumentation_scope
    return scope.name if scope is not None else ""


class ForeignError(Exception):
    """Stands for an exception from another instrumentation's call, of which its span records only the message."""


live = Live()
