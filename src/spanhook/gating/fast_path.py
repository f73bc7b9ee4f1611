"""Runs hooks that are plain functions and generators, and let the call pass, without creating or awaiting anything.

As soon as a hook does more than that, or the call fails, a chain continues from there; see ``Chain.run``.
"""

from collections.abc import Generator
from typing import Any, final

from spanhook.gating._decisions import budget_ns
from spanhook.gating.binding import Bound
from spanhook.gating.conclusion import conclude
from spanhook.gating.plan import Plan
from spanhook.model import RETURNED, InHook, Operation, Record, clock, current
from spanhook.telemetry import counts

Told = tuple[Any, BaseException | None, int, Operation, Generator[Any, Any, Any] | None]
"""What a hook returned or yielded, what it raised, its nanoseconds, its view, and its generator if it is one."""
Entered = tuple[int, Operation, Generator[Any, Any, Any], int]
"""A generator that waits at its ``yield``: its place in ``Plan.fast``, its view, itself, and its nanoseconds so far."""


@final
class Passed:
    """How far an operation got through its hooks without a chain.

    Attributes:
        index: The gate to continue from.
        left_out: The gates that its filters left out.
        spent: The nanoseconds of the hooks that let the call pass.
        entered: The generators that wait around the call, outermost first.
        told: The outcome of the last hook, if it did more than let the call pass.
        called: The call was made, or is being made.
        after: How many hooks after the call have run; ``told`` is of one of these if it is not 0.
        is_async: Whether the call is awaited.
        chain: The chain that has taken over, if one has.
        done: Everything has run.
    """

    __slots__ = ("after", "called", "chain", "done", "entered", "index", "is_async", "left_out", "spent", "told")

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self.chain: Any = None
        self.index = self.spent = self.after = 0
        self.left_out: list[Bound] = []
        self.entered: list[Entered] = []
        self.told: Told | None = None
        self.called = self.done = False

    def ran(self, plan: Plan) -> list[Bound]:
        """The gates that ran."""
        return [gate[0] for gate in plan.fast[: self.index] if gate[0] not in self.left_out]


def pass_fast(op: Record, plan: Plan, *, is_async: bool) -> Passed | None:
    """Run the gates that are plain, up to the first that does more than let the call pass.

    Returns ``None`` if there is nothing more to do, now and after the call.
    """
    now = clock.now
    cells = counts.decisions.cells(plan.reach)
    passed = Passed(is_async)
    index = spent = 0
    current.set(InHook(op))
    try:
        started = now()
        for bound, function, slot, limit, selective, generates in plan.fast:
            index += 1
            view = Operation(op)
            error = generator = None
            try:
                if selective:
                    passed.left_out.append(bound)
                    if not bound.matches(op):
                        started = now()
                        continue
                    passed.left_out.pop()
                value = function(view)
                if generates:
                    generator = value
                    value = next(generator)
            except BaseException as raised:
                value, error = None, raised
            ended = now()
            taken = ended - started
            view._locked = RETURNED
            if value is not None or error is not None or view._changed or taken > limit:
                passed.told = value, error, taken, view, generator
                break
            started = ended
            if generator is not None:
                passed.entered.append((index - 1, view, generator, taken))
                continue
            cells[slot] += 1
            cells[slot + 1] += taken
            spent += taken
    finally:
        current.set(op)
    passed.index, passed.spent = index, spent
    if passed.told is None and index == len(plan.pre) and not (passed.entered or plan.post or plan.together):
        return None if not plan.error else passed
    return passed


def leave_fast(op: Record, plan: Plan, passed: Passed) -> bool:
    """Run the rest of the hooks after a call that has succeeded; false if a chain has to continue.

    ``passed`` says at every moment what has run, so that nothing runs again after an interrupt.
    """
    conclude(op)
    if op.error is not None or op.status != "success" or (plan.error and op.adapter.fault is not None):
        return False
    now = clock.now
    cells = counts.decisions.cells(plan.reach)
    entered = passed.entered
    current.set(InHook(op))
    try:
        while entered:
            index, view, generator, before = entered.pop()
            bound, _, slot, limit, _, _ = plan.fast[index]
            view._reread()
            view._locked = ""
            started = now()
            value = error = None
            try:
                value = generator.send(view.result if bound.reads else None)
            except StopIteration as stop:
                if stop.value is not None:
                    error = stop
            except BaseException as raised:
                error = raised
            else:
                passed.told = value, None, now() - started, view, generator
                entered.append((index, view, generator, before))
                return False
            taken = now() - started
            view._locked = RETURNED
            if error is not None or view._changed or before + taken > limit:
                passed.told = None, error or StopIteration(), taken, view, generator
                entered.append((index, view, generator, before))
                return False
            cells[slot] += 1
            cells[slot + 1] += before + taken
            passed.spent += before + taken
        post = plan.fast_post
        assert post is not None
        budget = budget_ns()
        while passed.after < len(post):
            bound, function, slot, limit, selective, _ = post[passed.after]
            if passed.spent >= budget and not bound.gate:
                return False
            passed.after += 1
            view = Operation(op)
            error = None
            started = now()
            try:
                if selective and not bound.matches(op):
                    continue
                value = function(view)
            except BaseException as raised:
                value, error = None, raised
            taken = now() - started
            view._locked = RETURNED
            if (
                error is not None
                or view._changed
                or taken > limit
                or (value is not None and hasattr(value, "__await__"))
            ):
                passed.told = value, error, taken, view, None
                return False
            cells[slot] += 1
            cells[slot + 1] += taken
            passed.spent += taken
        passed.done = True
    finally:
        current.set(op)
    return True
