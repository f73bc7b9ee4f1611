"""Runs hooks on recorded operations, in the order of time, through the chain that also enforces them.

Nothing is called and nothing is exported. What hooks decide ends what follows in the replay as it would have then, and
changes nothing that was recorded.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context
from typing import Literal

from spanhook import semconv
from spanhook.cli.replay.content import Content, not_recorded
from spanhook.cli.replay.order import Node, in_order, nodes
from spanhook.cli.replay.otlp import RecordedSpan
from spanhook.cli.replay.outcomes import UNKNOWN, Decision, Outcome, recorded_decisions, refusal
from spanhook.cli.replay.recorded_time import recorded_time
from spanhook.cli.replay.records import Replayed, fault_of, finish, rebuilt, usage_of
from spanhook.cli.replay.watching import watched
from spanhook.concurrency import drive
from spanhook.errors import ConfigurationError, Reject
from spanhook.gating import Bound, Plan, Registry, Runner, again, conclude
from spanhook.model import Leaves, Operation, Record, add_kind, current, kinds
from spanhook.telemetry import SCOPE, context_with, set_context


class Replay:
    """Replays operations, each with the hooks of its kind.

    Args:
        registry: The hooks.

    Attributes:
        in_hook: How many calls were made by hooks, which run without hooks.
        orphans: How many operations have a parent in their process that is not recorded.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._plans: dict[tuple[str, bool], Plan | None] = {}
        self._shadows: dict[str, list[Plan]] = {}
        self._live: dict[int, _Live] = {}
        """By the id of the node."""
        self._outcomes: dict[int, Outcome] = {}
        """By the id of the record."""
        self.in_hook = self.orphans = 0
        for hook in registry.hooks:
            hook._before_replay(not_recorded)

    def run(self, spans: Iterable[RecordedSpan], told: Callable[[int, int], None]) -> list[Outcome]:
        """Replay the operations among the spans.

        Args:
            spans: All spans that were recorded.
            told: Called with how many beginnings and ends have been replayed, and of how many.

        Returns:
            What was decided about each, in the order in which they began.
        """
        found = nodes(spans)
        operations = [one for one in found if not _in_hook(one)]
        for one in found:
            while one.parent is not None and _in_hook(one.parent):
                one.parent = one.parent.parent
        self._add_kinds({str(one.span.attributes[semconv.KIND]) for one in operations})
        self.in_hook = len(found) - len(operations)
        self.orphans = sum(one.orphan for one in operations)
        outcomes: list[Outcome] = []
        with recorded_time() as time:
            events = in_order(found)
            for count, (now_ns, phase, node) in enumerate(events, 1):
                time.now_ns = now_ns
                if _in_hook(node):
                    if phase == "end" and node.parent is not None:
                        _roll_up(node.span, self._live[id(node.parent)].op)
                elif phase == "start":
                    outcomes.append(self._begin(node))
                else:
                    self._end(node)
                told(count, len(events))
        return outcomes

    def _add_kinds(self, recorded: set[str]) -> None:
        """Have hooks of all kinds asked about the kinds that the application registered, too."""
        for kind in sorted(recorded.difference(kinds())):
            with suppress(ConfigurationError):
                add_kind(kind)
        self._registry.rebuild()

    # ------------------------------------------------------------------------------------ start and end

    def _begin(self, node: Node) -> Outcome:
        span, parent = node.span, self._around(node)
        content = Content(span)
        content.fault = fault_of(span)
        then = recorded_decisions(span)
        changed = [one for one in then if one.decision in ("modify", "replace")]
        content.rewriters = {one.hook for one in changed if one.decision == "modify" and not _is_after(one)}
        content.replacers = {one.hook for one in changed if _is_after(one)}
        foreign = span.scope != SCOPE
        op = rebuilt(span, content, None if parent is None else parent.op, foreign=foreign, orphan=node.orphan)
        outcome = Outcome(span, op.kind, op.name, then)
        live = self._live[id(node)] = _Live(op, outcome)
        self._outcomes[id(op)] = outcome
        latch = op.run.stop or (None if node.parent is None else self._live[id(node.parent)].op.run.stop)
        was_rejected = span.attributes.get(semconv.STATUS) == "rejected"
        latched = was_rejected and not then and node.leaf  # a refusal had ended its run before it began
        if parent is not None and parent.stopped:
            outcome.unreached = parent.stopped
        elif latch is not None and not latched:
            outcome.unreached = f"the run would have been ended: {latch.reason}"
        if outcome.unreached:
            live.stopped = outcome.unreached
            return outcome
        if latched:
            op.error = Reject(span.message or "the run has ended") if latch is None else again(latch)
        op.plan = self._plan(op.kind, outermost=parent is None and not node.orphan)
        if op.plan is not None:
            live.enter(self._runner(op, op.plan, outcome))
        for plan in self._in_shadow(op.kind):
            seen = Content(span)  # as the enforced hooks have left it
            seen.fault = content.fault
            twin = rebuilt(span, seen, op.parent, foreign=foreign, orphan=node.orphan)
            twin.shadow, twin.plan, twin.agent = op, plan, op.agent
            trial = _Live(twin, outcome)
            live.trials.append(trial)
            trial.enter(self._runner(twin, plan, outcome))
        return outcome

    def _around(self, node: Node) -> "_Live | None":
        """The enclosing operation; those that have ended are left out, as they are in enforcement."""
        around = node.parent
        while around is not None and self._live[id(around)].op.ended and not self._live[id(around)].stopped:
            around = around.parent
        return None if around is None else self._live[id(around)]

    def _end(self, node: Node) -> None:
        live = self._live[id(node)]
        for one in (live, *live.trials):
            one.leave(node.span)
        live.trials.clear()

    # ------------------------------------------------------------------------------------ hooks

    def _plan(self, kind: str, *, outermost: bool) -> Plan | None:
        key = kind, outermost
        if key not in self._plans:
            plan = (self._registry.outer if outermost else self._registry.plans).get(kind)
            self._plans[key] = watched(plan, self._unknown) if plan is not None and plan.hooked else None
        return self._plans[key]

    def _in_shadow(self, kind: str) -> list[Plan]:
        if kind not in self._shadows:
            self._shadows[kind] = [watched(plan, self._unknown) for plan in self._registry.in_shadow(kind)]
        return self._shadows[kind]

    def _runner(self, op: Replayed, plan: Plan, outcome: Outcome) -> Runner:
        def tally(_op: Record, bound: Bound, decision: str, _spent: int, phase: str) -> None:
            event = f"{op.kind}.{phase}"
            op.content.rewriters.discard(bound.name)
            if phase != "pre":
                op.content.replacers.discard(bound.name)
            if decision == "allow" or outcome.is_unknown(bound.name, event):
                return
            reason = op.decided.records[-1].reason
            outcome.now.append(Decision(bound.name, event, decision, reason, _mode(op)))

        return Runner(op, plan, tally, is_async=False)

    def _unknown(self, view: Operation, bound: Bound, what: str) -> None:
        """A hook has read what is not recorded; if it refused the operation then, it does so again.

        Raises:
            Reject: It did.
        """
        op = view._record
        outcome = self._outcomes[id(op.shadow or op)]
        if bound.hook._not_replayed and op.phase != "pre" and all(one.hook != bound.name for one in outcome.then):
            return  # it decides before the call
        if not outcome.is_unknown(bound.name, op.event):
            outcome.now.append(Decision(bound.name, op.event, UNKNOWN, what, _mode(op)))
        said = refusal(outcome, bound.name, op.phase)
        if said is not None and op.shadow is None:
            raise Reject(said.reason or "rejected")


def _is_after(decision: Decision) -> bool:
    return decision.event.endswith((".post", ".error"))


def _mode(op: Record) -> Literal["enforce", "shadow"]:
    return "enforce" if op.shadow is None else "shadow"


class _Live:
    """One operation while it is replayed, by the hooks that are enforced or by one in shadow mode.

    Attributes:
        stopped: Why what is inside of it would not have happened; empty if it would have.
        trials: The same for hooks in shadow mode.
    """

    def __init__(self, op: Replayed, outcome: Outcome) -> None:
        self.op, self.outcome = op, outcome
        self.stopped = ""
        self.trials: list[_Live] = []
        self._runner: Runner | None = None
        self._context = Context()

    def enter(self, runner: Runner) -> None:
        """Run the hooks before the call and, if these end the operation, those after it."""
        self._runner = runner
        op = self.op
        self._context.run(self._enter)
        if op.error is not None or op.decided.answered:
            self._context.run(self._rest)
            if op.shadow is None and not op.foreign:
                self.stopped = self._what_stopped()

    def _enter(self) -> None:
        set_context(context_with(self.op.span, self.op.before))
        current.set(self.op)
        assert self._runner is not None
        drive(self._runner.enter())

    def _rest(self) -> None:
        if self._runner is not None and not self._runner.done:
            drive(self._runner.leave())
            drive(self._runner.observe())
        conclude(self.op)

    def _what_stopped(self) -> str:
        op = self.op
        what = f"{op.kind} {op.name}".rstrip()
        verb = "refused" if op.error is not None else "answered"
        by = next((f" by {one.hook}" for one in reversed(op.decided.records) if one.decision != "modify"), "")
        return f"inside of {what}, which would have been {verb}{by}"

    def leave(self, span: RecordedSpan) -> None:
        """The call has ended: run the hooks after it, unless they have run."""
        op, runner = self.op, self._runner
        if not self.stopped:
            done = runner is not None and runner.done and (op.error is not None or op.decided.answered)
            if not done:
                self._leave(span)
        op.ended = True

    def _leave(self, span: RecordedSpan) -> None:
        op, runner = self.op, self._runner
        if _never_called(self.outcome):
            self.outcome.unended = op.shadow is None
            if runner is not None:
                self._context.run(runner.drop)
            return
        op.content.rewriters = set()
        finish(op, span)
        op.called = not any(one.decision == "replace" and one.event.endswith(".pre") for one in self.outcome.then)
        if op.shadow is None and op.called and op.parent is not None:
            _roll_up(span, op.parent)
        self._context.run(self._rest)


def _never_called(outcome: Outcome) -> bool:
    """Whether the operation was refused then before its call was made, so that nothing is recorded of one."""
    if any(one.decision == "pause" and one.event.endswith(".pre") for one in outcome.then):
        return True
    said = refusal(outcome)
    return said is not None and (not said.event or said.event.endswith(".pre"))


def _in_hook(node: Node) -> bool:
    return bool(node.span.attributes.get(semconv.IN_HOOK))


def _roll_up(span: RecordedSpan, around: Record | None) -> None:
    """Add the usage of a call that has ended to the operations around it."""
    found = span.attributes
    used = usage_of(found)
    if found[semconv.KIND] == "tool.execute":
        owed = (str(found.get(semconv.GEN_AI_TOOL_NAME, "")), None)
    elif used is not None:
        owed = (str(found.get(semconv.GEN_AI_RESPONSE_MODEL) or found.get(semconv.GEN_AI_REQUEST_MODEL, "")), used)
    else:
        return
    while isinstance(around, Replayed):
        if around.inside is None:
            around.inside = Leaves()
        around.inside.new.append(owed)
        around = around.parent
