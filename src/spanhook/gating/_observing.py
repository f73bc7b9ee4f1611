"""Runs the hooks after a call, where they wait, decide or fail: ``after`` hooks, or ``on_error`` hooks if it failed."""

from collections.abc import Awaitable
from typing import Any

from spanhook.errors import FailedResult, Reject
from spanhook.gating._asking import Asking
from spanhook.gating._nesting import nest
from spanhook.gating._pieces import as_is, meant
from spanhook.gating._refusals import returned_refusal
from spanhook.gating._together import together
from spanhook.gating.binding import AFTER_NEXT, Bound
from spanhook.gating.conclusion import conclude
from spanhook.model import Operation


class Observing(Asking):
    """The hooks of one operation, those after its call included.

    Attributes:
        observers, observed: The hooks after the call that are being run, and how many of them have run.
        concurrent: Those ``after`` hooks that run at the same time have begun.
    """

    observers: tuple[Bound, ...] = ()
    observed = 0
    concurrent = False

    async def run_observers(self, first: Awaitable[None] | None = None) -> None:
        """Run the hooks after a call that have not run, up to one that refuses.

        After a late rejection, ``on_error`` hooks run.

        Args:
            first: Acts on what the last hook did inline.
        """
        op, plan = self.op, self.plan
        await self._all(first)
        if not (op.ending.fault and op.error is None and plan.error):
            return
        # The result says that the call failed: `on_error` hooks run once it is settled, and it is returned.
        conclude(op)
        if op.ending.fault:
            failed = op.error = FailedResult(op.ending.fault)
            conclude(op)
            await self._all()
            if op.error is failed:
                op.error = None

    async def _all(self, first: Awaitable[None] | None = None) -> None:
        op, before = self.op, self.op.error
        failed = op.phase == "error"
        hooks = self.plan.error if failed else self.plan.post
        if hooks is not self.observers:
            self.observers, self.observed = hooks, 0
        if first is not None:
            await first
        await self._each(before)
        if failed:
            return
        if self.plan.together and not self.concurrent and op.error is before and not self.verdicts.stopped:
            self.concurrent = True
            await self._look_together()
        if op.error is not before:
            conclude(op)
            if op.phase == "error":  # not so for a `GeneratorExit`
                await self._all()

    async def _each(self, before: BaseException | None) -> None:
        """Run hooks one after the other, up to one that changes the outcome from ``before``."""
        op = self.op
        while self.observed < len(self.observers):
            if op.phase == "post" and (op.error is not before or self.verdicts.stopped):
                return
            bound = self.observers[self.observed]
            self.observed += 1
            if bound.selective and not self.wants(bound):
                continue
            if not bound.gate and bound.budgeted and self.verdicts.over_budget(bound, self.spent):
                continue
            if bound.form == AFTER_NEXT:
                await self._around_the_rest(bound)
            else:
                view = Operation(op)
                if bound.slow:
                    outcome = await self.waited(bound, view, bound.function, view)
                else:
                    outcome = self.now(view, bound.function, view)
                await self.apply_after(bound, view, *outcome)

    async def _around_the_rest(self, bound: Bound) -> None:
        """Run a hook around those that follow it."""

        async def changed(spent: int, view: Operation) -> None:
            self.verdicts.replace(bound, view._take()[2], spent, view._reason)

        async def go_on() -> None:
            await self._each(self.op.error)

        await nest(self, bound, self.verdicts, changed, go_on)

    async def apply_after(
        self, bound: Bound, view: Operation, value: Any, error: BaseException | None, spent: int
    ) -> None:
        """Wait for what a hook returned, if it must be waited for, and act on what it did."""
        if value is not None and hasattr(value, "__await__"):
            value, error, spent = await self.waited(bound, view, as_is, value)
        if error is None:
            error = returned_refusal(value)
        if error is not None:
            self.verdicts.failed(bound, meant(error), spent)
        elif view._answered:
            self.verdicts.replace(bound, view._take()[2], spent, view._reason)
        else:
            self.verdicts.allow(bound, spent)

    async def _look_together(self) -> None:
        """Run concurrent ``after`` hooks, then apply their results in order."""
        op, verdicts, before = self.op, self.verdicts, self.op.error
        asked = [one for one in self.plan.together if not one.selective or self.wants(one)]
        asked = [one for one in asked if one.gate or not one.budgeted or not verdicts.over_budget(one, self.spent)]
        if op.error is not before or not asked:
            return
        for bound, view, (_, error, spent) in await together(self, asked):
            refused = op.error is not before or verdicts.stopped
            if refused and isinstance(error, Reject):  # as the one before it
                verdicts.record(bound, "reject", error.reason, spent, error)
            elif error is not None:
                verdicts.failed(bound, error, spent, keep=refused)
            elif view._answered and not refused:
                verdicts.replace(bound, view._take()[2], spent, view._reason)
            else:
                verdicts.allow(bound, spent)
