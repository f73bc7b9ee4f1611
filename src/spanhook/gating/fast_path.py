"""Runs gates that are plain functions and let the call pass, as most do, without creating or awaiting anything."""

from dataclasses import dataclass
from typing import Any

from spanhook.gating.binding import Bound
from spanhook.gating.plan import Plan
from spanhook.model import RETURNED, InHook, Operation, Record, clock, current
from spanhook.telemetry import counts

Told = tuple[Any, BaseException | None, int, Operation]
"""What a gate returned, what it raised, its nanoseconds, and its view."""


@dataclass(slots=True)
class Passed:
    """How far an operation got through its gates without a chain.

    Attributes:
        index: The gate to continue from.
        ran: The gates that ran.
        spent: The nanoseconds of the gates that let the call pass.
        told: The outcome of the last one, if it did more than let the call pass.
    """

    index: int
    ran: list[Bound]
    spent: int
    told: Told | None


def pass_fast(op: Record, plan: Plan) -> Passed | None:
    """Run the gates that are plain functions, up to the first that does more than let the call pass.

    Returns ``None`` if there is nothing more to do, now and after the call; otherwise a chain has to continue.
    """
    now = clock.now
    cells = counts.decisions.cells(plan.reach)
    left_out: list[Bound] = []
    index = spent = 0
    told: Told | None = None
    current.set(InHook(op))
    try:
        started = now()
        for bound, function, slot, limit, selective in plan.fast:
            index += 1
            view = Operation(op)
            error = None
            try:
                if selective:
                    left_out.append(bound)
                    if not bound.matches(op):
                        started = now()
                        continue
                    left_out.pop()
                value = function(view)
            except BaseException as raised:
                value, error = None, raised
            ended = now()
            taken = ended - started
            view._locked = RETURNED
            if value is not None or error is not None or view._changed or taken > limit:
                told = value, error, taken, view
                break
            started = ended
            cells[slot] += 1
            cells[slot + 1] += taken
            spent += taken
    finally:
        current.set(op)
    if told is None and index == len(plan.pre) and not (plan.post or plan.together or plan.error):
        return None
    ran = [gate[0] for gate in plan.fast[:index] if gate[0] not in left_out]
    return Passed(index, ran, spent, told)
