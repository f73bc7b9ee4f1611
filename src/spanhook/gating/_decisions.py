"""Applies the decisions of hooks to an operation, and records them.

This module does not know the order in which hooks run, or how they are awaited.
"""

from typing import Any

from spanhook.concurrency import cross_loop_hint
from spanhook.diagnostics import log
from spanhook.errors import HookError, Reject, TimedOut, TooLate
from spanhook.gating._overdue import duration, overran, overrun
from spanhook.gating._refusals import own, refusal_in, returned_refusal
from spanhook.gating.binding import Bound
from spanhook.gating.control_flow import control
from spanhook.gating.listener import Tally
from spanhook.model import (
    REPLACEABLE,
    DecisionRecord,
    HookDecisions,
    HookMode,
    Operation,
    Record,
    Said,
    added,
    alike,
    copied,
    disclosed,
    error_message,
    raised_in,
    shed,
    words,
)
from spanhook.semconv import Decision
from spanhook.telemetry import telemetry

BUDGET_NS = 500_000_000


def budget_ns() -> float:
    """How many nanoseconds the hooks of one operation may use before those that only observe are skipped."""
    given = telemetry.settings.chain_timeout_ms
    return BUDGET_NS if given is None else given * 1e6


class Verdicts:
    """Applies decisions to one operation.

    Args:
        op: The operation.
        tally: Called with every decision.
        in_time: What is decided about has not gone out, although other parts of the result have.

    Attributes:
        spent: Nanoseconds of the hooks whose decisions it has applied, against the budget of a chain.
        stopped: A hook wants no more ``after`` hooks to run, although the result stands.
    """

    __slots__ = ("_in_time", "_op", "_tally", "spent", "stopped")

    def __init__(self, op: Record, tally: Tally, *, in_time: bool = False) -> None:
        self._op, self._tally, self._in_time = op, tally, in_time
        self.spent = 0
        self.stopped = False

    def count(self, bound: Bound, spent: int) -> None:
        """Count a hook's time towards the chain's budget."""
        if bound.budgeted and bound.timeout_ns is not None:  # a hook without a limit waits for people, not for itself
            self.spent += spent

    def allow(self, bound: Bound, spent: int) -> None:
        """The hook let the operation pass."""
        self.count(bound, spent)
        if overran(bound, spent):
            self._keep(bound, "timeout", f"{overrun(bound, spent)}; what it decided stands", spent)
            self._tally(self._op, bound, "timeout", spent, self._op.phase)
            return
        self._tally(self._op, bound, "allow", spent, self._op.phase)

    def over_budget(self, bound: Bound, used: int) -> bool:
        """Whether ``used`` nanoseconds are the chain's budget; observers are then skipped, which is recorded."""
        budget = budget_ns()
        if used < budget:
            return False
        said = f"hooks have used {used / 1e6:.0f} ms of {budget / 1e6:.4g} ms"
        self.record(bound, "skipped", said, 0)
        return True

    def answer(self, bound: Bound, value: Any, spent: int, reason: str = "") -> None:
        """Answer with ``value`` instead of the call; the gates that follow still run."""
        op, refusal = self._op, returned_refusal(value)
        if refusal is not None:
            self.failed(bound, refusal, spent)
            return
        try:
            value = copied(value)
            op.result = op.adapter.editing.answer(op.instance, op.args, op.kwargs, value)
        except Exception as error:
            said = f"cannot answer {op.kind} with {type(value).__name__}"
            failure = HookError(Said.of(f"{said}: {error_message(error)}", said))
            failure.__cause__ = error
            self.failed(bound, failure, spent)
            return
        decided = op.part(HookDecisions)
        decided.answer, decided.answered = value, True
        if "block" in op.adapter.traits:
            decided.answerer = bound
        self.record(bound, "replace", reason or "answered instead of the call", spent)

    def unanswer(self, *, keep: bool) -> None:
        """The answer was not used, since the call was made anyway. With ``keep``, the call's outcome stands."""
        decided = self._op.decided
        bound = decided.answerer
        self._op.result = decided.answer = decided.answerer = None
        decided.answered = False
        self.failed(bound, HookError(_UNTAKEN), 0, keep=keep)

    def replace(self, bound: Bound, value: Any, spent: int, reason: str = "") -> None:
        """Replace what the call returned or raised with ``value``, where that is allowed."""
        op, refusal = self._op, returned_refusal(value)
        if refusal is not None:
            self.failed(bound, refusal, spent, keep=op.error is not None)
            return
        try:
            if op.kind not in REPLACEABLE:
                raise HookError(f"results of {op.kind} are read-only")
            if op.out:
                self._late(bound, "it was to be replaced", spent)
                return
            if op.error is not None and (not isinstance(op.error, Exception) or isinstance(op.error, Reject)):
                raise HookError(f"a {type(op.error).__name__} cannot be replaced by a value")
            value = copied(value)
            op.result = self._in_place(value)
        except Exception as error:
            self.failed(bound, error, spent, keep=op.error is not None)
            return
        decided = op.part(HookDecisions)
        decided.answer, op.error, decided.replaced = value, None, True
        if op.deferred.leaked:
            self._late(bound, reason or "replaced the result", spent)
        else:
            self.record(bound, "replace", reason or "replaced the result", spent)

    def _in_place(self, value: Any) -> Any:
        """The library's own result for a value that takes the place of the call's."""
        op = self._op
        amend = op.adapter.editing.amend
        if amend is not None and op.error is None and op.result is not None:
            return amend(op.result, op.instance, op.args, op.kwargs, value)
        return op.adapter.editing.answer(op.instance, op.args, op.kwargs, value)

    def unyielded(self, bound: Bound, value: Any, spent: int, before: str) -> None:
        """An around hook ended before the call: its value answers instead."""
        if value is None:
            error = HookError(
                f"it returned nothing before {before}; return a value there to answer instead of the call"
            )
            self.failed(bound, error, spent)
        else:
            self.answer(bound, value, spent)

    def returned(self, bound: Bound, view: Operation, value: Any, spent: int) -> None:
        """A value returned after the call or given to ``respond`` replaces the result; ``None`` keeps it."""
        if view._changed:
            _, answered, answer = view._take()
            if value is None and answered:
                value = answer
        if value is None or self._is_result(view, value):
            self.allow(bound, spent)
        else:
            self.replace(bound, value, spent, view._reason)

    def _is_result(self, view: Operation, value: Any) -> bool:
        """Whether a hook returned the call's own result, and so keeps it."""
        op = self._op
        if op.error is not None:
            return False
        if value is op.result:
            return True
        return view._is_result(value) and alike(value, op.whole)

    def left(self, bound: Bound, error: BaseException, failure: BaseException | None, spent: int) -> None:
        """An around hook has raised after the call."""
        if error is failure or (isinstance(error, RuntimeError) and failure is not None and error.__cause__ is failure):
            self.allow(bound, spent)  # PEP 479 wraps a StopIteration that passes through
        elif failure is not None and not isinstance(failure, Exception):
            said = f"raised {type(error).__name__} in place of {type(failure).__name__}, which stands"
            self.record(bound, "error", said, spent)
        else:
            self.failed(bound, error, spent, keep=failure is not None)

    def failed(self, bound: Bound, error: BaseException, spent: int, *, keep: bool = False) -> None:
        """Act on an exception from a hook; ``keep`` says that it must not change the outcome."""
        op = self._op
        observes = op.phase == "error" or keep
        refusal = refusal_in(error)
        shed(error)
        if refusal is not None:
            error = own(refusal)
        if isinstance(error, Reject) and not observes:
            self._reject(bound, error, "reject", spent)
        elif not isinstance(error, Exception):
            op.error = error
        elif isinstance(error, TooLate):
            self.stopped = op.phase == "post"
            self.record(bound, "too_late", f"{error.args[0]}: too late, the result of {op.kind} stands", spent)
        elif op.phase == "pre" and control(error) == "interrupted":
            op.error = error
            self.record(bound, "pause", "the hook asked to wait", spent)
        else:
            self._broke(bound, error, spent, observes)

    def _broke(self, bound: Bound, error: Exception, spent: int, observes: bool) -> None:
        """A hook has failed; its fail mode decides what happens."""
        op = self._op
        timed_out = isinstance(error, TimedOut)
        decision: Decision = "timeout" if timed_out else "error"
        what = f"timed out after {duration(bound.timeout_ns or 0)}" if timed_out else f"failed: {type(error).__name__}"
        said = what if timed_out else _said(what, error)
        ends_run = op.phase != "pre" and (bound.outermost or op.kind == "run")
        unsaid = 0 if ends_run else bound.repeats.due(what)  # whoever does the books misses every single run
        if unsaid is not None:
            more = f" (and {unsaid} times more in the last minute)" if unsaid else ""
            more += f" (run {op.identity.run_id})" if ends_run else ""
            trace = None if timed_out else error
            log.warning("spanhook: hook %r on %s %s%s", bound.name, op.event, said, more, exc_info=trace)
        if bound.closed and not observes:
            instead = bound.hook._fails_with(error, f"hook {bound.name!r} {what}", 504 if timed_out else 500)
            if isinstance(instead, Reject):
                self._reject(bound, instead, decision, spent)
                return
            op.error = instead
            if self._stops_run(bound):
                op.run.stop = Reject(f"hook {bound.name!r} {what}", status_code=500, scope="run")
        self.record(bound, decision, said, spent)

    def _reject(self, bound: Bound, reject: Reject, decision: Decision, spent: int) -> None:
        op = self._op
        if (reject.scope == "run" and op.shadow is None) or self._stops_run(bound):
            op.run.stop = reject
        late = op.phase == "post" and (op.out or op.deferred.leaked) and not self._in_time
        if late:
            self._late(bound, reject.reason, spent, reject)
        if not (late and op.out):
            decided = op.part(HookDecisions)
            op.error, decided.refused = reject, True
        if (op.foreign or "made_elsewhere" in op.adapter.traits) and decision == "reject":
            decision = "attempted"  # the library may make the call anyway
        if not late:
            self.record(bound, decision, reject.reason, spent, reject)

    def _stops_run(self, bound: Bound) -> bool:
        """Whether a gate of whole runs has refused one that another instrumentation may start all the same.

        What is inside of the run is refused then, as no gate of whole runs is asked about it.
        """
        op = self._op
        return bound.outermost and op.foreign and op.phase == "pre" and op.shadow is None

    def _late(self, bound: Bound, what: str, spent: int, reject: Reject | None = None) -> None:
        """The result, or part of it, was passed on before the hook decided; the rest is held back."""
        op = self._op
        said = f"{what}: too late, {'the result' if op.out else 'part of the result'} has been handed on"
        if bound.stream is None or bound.stream == "observe":
            said += "; set stream='buffer' on the hook"
        if bound.repeats.due("too late") is not None:
            log.warning("spanhook: hook %r on %s: %s", bound.name, op.event, said)
        self.record(bound, "too_late", said, spent, reject)

    def record(self, bound: Bound, decision: Decision, reason: str, spent: int, reject: Reject | None = None) -> None:
        """Keep a decision other than ``allow`` with the operation."""
        self.count(bound, spent)
        if decision != "timeout" and overran(bound, spent):
            reason = added(reason, f" ({overrun(bound, spent)})")
        self._keep(bound, decision, reason, spent, reject)
        self._tally(self._op, bound, decision, spent, self._op.phase)

    def _keep(self, bound: Bound, decision: Decision, reason: str, spent: int, reject: Reject | None = None) -> None:
        op = self._op
        mode: HookMode = "enforce" if op.shadow is None else "shadow"
        status, facts = (0, {}) if reject is None else (reject.status_code, dict(reject.facts))
        record = DecisionRecord(
            bound.name, op.event, decision, reason, spent, bound.fail_mode, status, mode, facts=facts
        )
        decided = op.part(HookDecisions)
        decided.records = (*decided.records, record)


_UNTAKEN = "it answered, but a `with` block runs all the same; the code in it must go through op.call() or op.stream()"


def unanswered(op: Record, tally: Tally, *, keep: bool) -> None:
    """A hook has answered, but the call was made anyway: the hook has failed.

    Args:
        op: The operation.
        tally: Called with the decision.
        keep: Whether the call's outcome stands.
    """
    Verdicts(op, tally).unanswer(keep=keep)


def _said(what: str, error: Exception) -> Said:
    """The message about a hook that has failed. spanhook's own messages quote no content, so they are included."""
    full = f"{what}: {words(error)}{cross_loop_hint(error)}"
    ours = isinstance(error, HookError) and raised_in(error, "spanhook")
    return Said.of(full, f"{what}: {disclosed(error.args[0], in_full=False)}" if ours else what)
