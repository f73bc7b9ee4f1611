"""Runs the hooks after a call, where they wait, decide or fail: ``after`` hooks, or ``on_error`` hooks if it failed."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from spanhook.errors import FailedResult, Reject
from spanhook.gating._nesting import nest
from spanhook.gating._pieces import as_is, meant
from spanhook.gating._together import together
from spanhook.gating.binding import AFTER_NEXT, Bound
from spanhook.gating.conclusion import conclude
from spanhook.model import Operation

if TYPE_CHECKING:
    from spanhook.gating.runner import Runner


async def observe(run: "Runner", first: Awaitable[None] | None = None) -> None:
    """Run the hooks after a call that have not run, up to one that refuses. After a late rejection, ``on_error`` hooks
    run.

    Args:
        run: The runner of the operation's hooks.
        first: Acts on what the last hook did inline.
    """
    op, plan = run.op, run.plan
    await _all(run, first)
    if not (op.fault and op.error is None and plan.error):
        return
    # The result says that the call failed: `on_error` hooks run once it is settled, and it is returned.
    conclude(op)
    if op.fault:
        failed = op.error = FailedResult(op.fault)
        conclude(op)
        await _all(run)
        if op.error is failed:
            op.error = None


async def _all(run: "Runner", first: Awaitable[None] | None = None) -> None:
    op, before = run.op, run.op.error
    hooks = run.plan.error if op.phase == "error" else run.plan.post
    if hooks is not run.observers:
        run.observers, run.observed = hooks, 0
    if first is not None:
        await first
    await _each(run, before)
    if run.observers is run.plan.error:
        return
    if run.plan.together and op.error is before and not run.verdicts.stopped:
        await _look_together(run)
    if op.error is not before:
        conclude(op)
        if op.phase == "error":  # not so for a `GeneratorExit`
            await _all(run)


async def _each(run: "Runner", before: BaseException | None) -> None:
    """Run hooks one after the other, up to one that changes the outcome from ``before``."""
    op = run.op
    while run.observed < len(run.observers):
        if op.phase == "post" and (op.error is not before or run.verdicts.stopped):
            return
        bound = run.observers[run.observed]
        run.observed += 1
        if bound.selective and not run.wants(bound):
            continue
        if not bound.gate and bound.budgeted and run.verdicts.over_budget(bound):
            continue
        if bound.form == AFTER_NEXT:
            await _around_the_rest(run, bound)
        else:
            view = Operation(op)
            if bound.slow:
                outcome = await run.waited(bound, view, bound.function, view)
                await settle(run, bound, view, None, *outcome[1:])
            else:
                await settle(run, bound, view, *run.now(view, bound.function, view))


async def _around_the_rest(run: "Runner", bound: Bound) -> None:
    """Run a hook around those that follow it."""

    async def apply(spent: int, view: Operation) -> None:
        run.verdicts.replace(bound, view._take()[2], spent, view._reason)

    async def go_on() -> None:
        await _each(run, run.op.error)

    await nest(run, bound, run.verdicts, apply, go_on)


async def settle(
    run: "Runner", bound: Bound, view: Operation, value: Any, error: BaseException | None, spent: int
) -> None:
    """Wait for what a hook returned, if it must be waited for, and act on what it did."""
    if value is not None and hasattr(value, "__await__"):
        _, error, spent = await run.waited(bound, view, as_is, value)
    if error is not None:
        run.verdicts.failed(bound, meant(error), spent)
    elif view._answered:
        run.verdicts.replace(bound, view._take()[2], spent, view._reason)
    else:
        run.verdicts.allow(bound, spent)


async def _look_together(run: "Runner") -> None:
    """Run concurrent ``after`` hooks, then apply their results in order."""
    op, verdicts, before = run.op, run.verdicts, run.op.error
    asked = [one for one in run.plan.together if not one.selective or run.wants(one)]
    asked = [one for one in asked if one.gate or not one.budgeted or not verdicts.over_budget(one)]
    if op.error is not before or not asked:
        return
    for bound, view, (_, error, spent) in await together(run, asked):
        refused = op.error is not before or verdicts.stopped
        if refused and isinstance(error, Reject):  # as the one before it
            verdicts.record(bound, "reject", error.reason, spent, error)
        elif error is not None:
            verdicts.failed(bound, error, spent, keep=refused)
        elif view._answered and not refused:
            verdicts.replace(bound, view._take()[2], spent, view._reason)
        else:
            verdicts.allow(bound, spent)
