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
        is_async: Whether the call is awaited.
        around: What is current while hooks run.
        index: The gate to continue from.
        left_out: The gates that its filters left out.
        spent: The nanoseconds of the hooks that let the call pass.
        entered: The generators that wait around the call, outermost first.
        told: The outcome of the last hook, if it did more than let the call pass.
        called: The call was made, or is being made.
        after: How many hooks after the call have run; ``told`` is of one of these if it is not 0.
        chain: The chain that has taken over, if one has.
        done: Everything has run.
    """

    __slots__ = (
        "after",
        "around",
        "called",
        "chain",
        "done",
        "entered",
        "index",
        "is_async",
        "left_out",
        "spent",
        "told",
    )

    def __init__(self, around: InHook, is_async: bool) -> None:
        self.is_async, self.around = is_async, around
        self.index = self.spent = self.after = 0
        self.left_out: tuple[Bound, ...] = ()
        self.entered: list[Entered] = []
        self.told = self.chain = None
        self.called = self.done = False

    told: Told | None
    chain: Any

    def ran(self, plan: Plan) -> list[Bound]:
        """The gates that ran."""
        return [gate[0] for gate in plan.fast[: self.index] if gate[0] not in self.left_out]


def pass_fast(op: Record, plan: Plan, *, is_async: bool) -> Passed | None:
    """Run the gates that are plain, up to the first that does more than let the call pass.

    Returns ``None`` if there is nothing more to do, now and after the call.
    """
    now = clock.now
    cells = counts.decisions.cells(plan.reach)
    around = InHook(op)
    passed = Passed(around, is_async) if plan.goes_on else None
    index = spent = 0
    current.set(around)
    try:
        started = now()
        for bound, function, slot, limit, selective, generates in plan.fast:
            index += 1
            view, value, generator = Operation(op), None, None
            try:
                if selective and not bound.matches(op):
                    passed = passed or Passed(around, is_async)
                    passed.left_out = (*passed.left_out, bound)
                    started = now()
                    continue
                value = function(view)
                if generates:
                    generator = value
                    value = next(generator)
            except BaseException as raised:
                passed = passed or Passed(around, is_async)
                passed.told = None, raised, now() - started, view, generator
                view._locked = RETURNED
                break
            ended = now()
            view._locked = RETURNED
            if value is not None or view._changed or ended - started > limit:
                passed = passed or Passed(around, is_async)
                passed.told = value, None, ended - started, view, generator
                break
            if generator is None:
                cells[slot] += 1
                cells[slot + 1] += ended - started
                spent += ended - started
            else:
                assert passed is not None
                passed.entered.append((index - 1, view, generator, ended - started))
            started = ended
    finally:
        current.set(op)
    if passed is None or (passed.told is None and not plan.goes_on and index == len(plan.pre)):
        return None
    passed.index, passed.spent = index, spent
    return passed


def leave_fast(op: Record, plan: Plan, passed: Passed) -> bool:
    """Run the rest of the hooks after a call that has succeeded; false if a chain has to continue.

    ``passed`` says at every moment what has run, so that nothing runs again after an interrupt.
    """
    conclude(op)
    if op.error is not None or op.status != "success" or (plan.error and op.adapter.fault is not None):
        return False
    current.set(passed.around)
    try:
        cells = counts.decisions.cells(plan.reach)
        if passed.entered and not _leave_generators(op, plan, passed, cells):
            return False
        post, now = plan.fast_post, clock.now
        assert post is not None
        started = now()
        while passed.after < len(post):
            bound, function, slot, limit, selective, observes = post[passed.after]
            if observes and passed.spent >= budget_ns():
                return False
            passed.after += 1
            view, value = Operation(op), None
            try:
                if selective and not bound.matches(op):
                    continue
                value = function(view)
            except BaseException as raised:
                passed.told = None, raised, now() - started, view, None
                view._locked = RETURNED
                return False
            ended = now()
            view._locked = RETURNED
            if view._changed or ended - started > limit or (value is not None and hasattr(value, "__await__")):
                passed.told = value, None, ended - started, view, None
                return False
            cells[slot] += 1
            cells[slot + 1] += ended - started
            passed.spent += ended - started
            started = ended
        passed.done = True
    finally:
        current.set(op)
    return True


def _leave_generators(op: Record, plan: Plan, passed: Passed, cells: list[int]) -> bool:
    """Resume the generators, innermost first; false if one did more than end, or the run has been stopped meanwhile."""
    now, entered = clock.now, passed.entered
    started = now()
    while entered:
        place = index, view, generator, before = entered.pop()
        bound, _, slot, limit, _, _ = plan.fast[index]
        view._locked = ""
        try:
            if bound.reads or view.__dict__:  # it has read something before the call
                view._reread()
            generator.send(view.result if bound.reads else None)
        except StopIteration as stop:  # no local keeps it: it holds the frames of the whole call
            ended = now()
            if stop.value is not None or view._changed or before + ended - started > limit:
                passed.told = None, stop, ended - started, view, generator
        except BaseException as raised:
            ended = now()
            passed.told = None, raised, ended - started, view, generator
        else:
            ended = now()
            passed.told = None, None, ended - started, view, generator
        view._locked = RETURNED
        if passed.told is not None:
            entered.append(place)
            return False
        taken = before + ended - started
        cells[slot] += 1
        cells[slot + 1] += taken
        passed.spent += taken
        started = ended
        if op.latch is not None:
            return False
    return True
