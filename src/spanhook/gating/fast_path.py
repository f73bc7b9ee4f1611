"""Running gates that are plain functions and let pass, which most gates are, without anything made or awaited."""

from dataclasses import dataclass
from typing import Any

from spanhook.gating.binding import Bound
from spanhook.gating.plan import Plan
from spanhook.model import RETURNED, InHook, Operation, Record, clock, current
from spanhook.telemetry import counts

Told = tuple[Any, BaseException | None, int, Operation]
"""What a gate returned, what it raised, its nanoseconds, and the view it was given."""


@dataclass(slots=True)
class Passed:
    """How far an operation got through its gates without a chain.

    Attributes:
        index: The gate to go on from.
        ran: Those that ran.
        spent: The nanoseconds of those that let pass.
        told: What the last of them did, if it did more than that.
    """

    index: int
    ran: list[Bound]
    spent: int
    told: Told | None


def pass_fast(op: Record, plan: Plan) -> Passed | None:
    """Run the gates that are plain functions, up to the first that does more than let pass.

    Most hooks are such, so nothing is made or awaited for them. ``None`` if that was all there is to do, now and after
    the call; else a chain has to go on.
    """
    now = clock.now
    vectors = counts.decisions.mine()
    ran: list[Bound] = []
    index = spent = 0
    told: Told | None = None
    current.set(InHook(op))
    try:
        started = now()
        for bound, function, label, limit, selective in plan.fast:
            index += 1
            view = Operation(op)
            try:
                if selective and not bound.matches(op):
                    started = now()
                    continue
                ran.append(bound)
                value, error = function(view), None
            except BaseException as raised:
                value, error = None, raised
            ended = now()
            taken, started = ended - started, ended
            view._locked = RETURNED
            if value is not None or error is not None or view._changed or taken > limit:
                told = value, error, taken, view
                break
            vector = vectors.get(label) or counts.decisions.vector(label)
            vector[0] += 1
            vector[1] += taken
            spent += taken
    finally:
        current.set(op)
    if told is None and index == len(plan.pre) and not (plan.post or plan.together or plan.error):
        return None
    return Passed(index, ran, spent, told)
