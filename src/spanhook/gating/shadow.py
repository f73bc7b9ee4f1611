"""Hooks in shadow: they run beside the call; what they would have done is recorded but not done.

A hook in shadow runs on a copy of each operation, on its own thread, through the same chain as enforced hooks. So it
never delays the call, and what it decides is what it would have decided. It sees the request as the enforced hooks have
left it.
"""

from collections.abc import Callable
from contextvars import Context
from typing import Literal

from opentelemetry.trace import NonRecordingSpan

from spanhook.concurrency import drive
from spanhook.gating.auditing import in_shadow
from spanhook.gating.listener import Delivery, Listener
from spanhook.gating.plan import Plan
from spanhook.gating.runner import Runner
from spanhook.model import NO_ENDING, EndDetails, Event, Record, Shadowing, StreamState
from spanhook.telemetry import context_with, report_decision, set_context, telemetry

Standing = Literal["waiting", "dropped"]
Isolate = Callable[[], None]
isolating: list[Isolate] = []
"""Called in the context of a hook in shadow mode, to take out what would let it reach the run."""


class Shadow:
    """One hook in shadow.

    Args:
        name: Its name in decisions.
    """

    def __init__(self, name: str) -> None:
        self.listener = Listener(name, self._tell)
        self.plans: dict[str, Plan] = {}
        """What runs for an operation, by its kind."""

    def put(self, delivery: Delivery) -> None:
        """Show the hook that an operation has begun or ended; never waits.

        If too many operations wait already, the hook misses this one, which is counted.
        """
        op = delivery.event._record
        shadowing = op.shadowing
        standing = None if shadowing is None else shadowing.trials.get(id(self))
        if standing == "dropped":
            return
        if standing is not None:
            self.listener.add(delivery)
            return
        if shadowing is None:
            shadowing = op.__dict__.setdefault("shadowing", Shadowing())
        shadowing.trials[id(self)] = "waiting"
        if not self.listener.put(delivery):
            shadowing.trials[id(self)] = "dropped"

    def _tell(self, delivery: Delivery) -> None:
        event = delivery.event
        op = event._record
        assert op.shadowing is not None
        trials = op.shadowing.trials
        trial = trials.get(id(self))
        if not isinstance(trial, Trial):
            plan = self.plans.get(op.kind)
            if plan is None:  # removed since
                return
            trial = trials[id(self)] = Trial(event, plan, delivery.context)
            trial.enter()
        if event.phase != "pre":
            del trials[id(self)]
            if trial.context is delivery.context:
                trial.leave(event)
            else:
                trial.context.run(trial.leave, event)


class Trial:
    """One operation as a hook in shadow would have seen it.

    Args:
        event: The operation as it began, or as it ended where its gates were not passed.
        plan: The hooks to run.
        context: The context to run them in.
    """

    def __init__(self, event: Event, plan: Plan, context: Context) -> None:
        self.context = context
        self._plan = plan
        self._told = 0
        self._real = event._record
        self._op = _copy(event)
        self._op.plan = plan
        set_context(context_with(self._op.span, self._op.before))  # its code must not reach the real span
        for isolate in isolating:
            isolate()
        self._runner = Runner(self._op, plan, is_async=False)

    def enter(self) -> None:
        """Run hooks before the call and, if these end the operation, those after it."""
        drive(self._runner.enter())
        if self._op.error is not None or (self._op.decided.answered and "block" not in self._op.adapter.traits):
            self._finish()
        self._tell()

    def leave(self, event: Event) -> None:
        """The call has ended: run the hooks after it, unless they have run."""
        op, real = self._op, self._real
        if not self._runner.done:
            op.called, op.returned_ns = real.called, real.returned_ns
            if real.ending is not NO_ENDING:
                ending = op.part(EndDetails)
                ending.left, ending.raw = real.ending.left, real.ending.raw
            op.own_usage, op.leaves, op.end_attributes = real.own_usage, real.leaves, real.end_attributes
            if real.stream.streamed:
                stream = op.part(StreamState)
                stream.streamed, stream.first_chunk_ns = True, real.stream.first_chunk_ns
                stream.buffered = bool(self._plan.buffers or self._plan.windows)
            if not op.decided.answered:
                op.result, op.error = event._outcome()
            self._finish()
        self._tell()

    def _finish(self) -> None:
        drive(self._runner.leave())
        drive(self._runner.observe())

    def _tell(self) -> None:
        decisions, shadowing = self._op.decided.records, self._real.shadowing
        assert shadowing is not None
        for decision in decisions[self._told :]:
            shadowing.decisions.append(decision)
            report_decision(self._op, decision, telemetry)
            for tell in in_shadow:
                tell(self._real, decision)
        self._told = len(decisions)


def _copy(event: Event) -> Record:
    """A view of the operation for the hook to decide about; changes to it have no effect."""
    op = event._record
    args, kwargs = event._call()
    copy = Record(
        op.adapter, dict(op.attributes), op.instance, args, kwargs, op.parent, op.ambient, op.before, op.start_ns
    )
    copy.shadow = op
    copy.agent, copy.given, copy.foreign, copy.undescribed = op.agent, op.given, op.foreign, op.undescribed
    copy.coverage = "best_effort" if op.foreign else "enforced"
    copy.span = NonRecordingSpan(op.span.get_span_context())
    copy._identity = op.identity
    return copy
