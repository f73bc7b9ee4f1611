"""Runs the hooks after a call: ``after`` hooks, or ``on_error`` hooks if it failed."""

from typing import Any

from spanhook.errors import Reject
from spanhook.gating._decisions import Verdicts
from spanhook.gating._filtering import wanted
from spanhook.gating._nesting import nest
from spanhook.gating._pieces import Pieces, as_is, meant
from spanhook.gating._together import together
from spanhook.gating.binding import AFTER_NEXT, Bound
from spanhook.gating.conclusion import conclude
from spanhook.gating.fast_path import Told
from spanhook.gating.plan import Plan
from spanhook.model import Operation


class Observers:
    """The hooks of one operation that come after its call.

    Args:
        plan: The hooks of its kind.
        pieces, verdicts: Those of the operation's chain.
    """

    __slots__ = ("_op", "_pieces", "_plan", "_verdicts")

    def __init__(self, plan: Plan, pieces: Pieces, verdicts: Verdicts) -> None:
        self._op, self._plan, self._pieces, self._verdicts = pieces.op, plan, pieces, verdicts

    async def run(self, index: int = 0, *, inside: bool = False, told: Told | None = None) -> None:
        """Run them from ``index`` on, up to one that refuses. After a late rejection, ``on_error`` hooks run.

        Args:
            index: The first hook to run.
            inside: Whether they run inside another hook, which then handles their outcome.
            told: What the hook before ``index`` did.
        """
        op, before = self._op, self._op.error
        hooks = self._plan.error if op.phase == "error" else self._plan.post
        if told is not None:
            value, error, spent, view, _ = told
            await self._settle(hooks[index - 1], view, value, error, spent)
            if op.error is not before or self._verdicts.stopped:
                index = len(hooks)
        while index < len(hooks):
            bound = hooks[index]
            index += 1
            if bound.selective and not wanted(bound, self._pieces, self._verdicts):
                pass
            elif bound.form == AFTER_NEXT:
                if await self._after_next(bound, index):
                    break
            else:
                await self._after(bound)
            if op.phase == "post" and (op.error is not before or self._verdicts.stopped):
                break
        if inside or op.phase == "error":
            return
        if self._plan.together and op.error is before and not self._verdicts.stopped:
            await self._look_together()
        if op.error is not before:
            await self._refused()

    async def _refused(self) -> None:
        conclude(self._op)
        if self._op.phase == "error":  # not so for a `GeneratorExit`
            await self.run()

    async def _after_next(self, bound: Bound, index: int) -> bool:
        """Run a hook around those that follow it. Returns whether these have run."""
        if not bound.gate and bound.budgeted and self._verdicts.over_budget(bound):
            return False

        async def apply(spent: int, view: Operation) -> None:
            self._verdicts.replace(bound, view._take()[2], spent, view._reason)

        async def go_on() -> None:
            await self.run(index, inside=True)

        return await nest(self._op, bound, self._pieces, self._verdicts, apply, go_on)

    async def _after(self, bound: Bound) -> None:
        if not bound.gate and bound.budgeted and self._verdicts.over_budget(bound):
            return
        view = Operation(self._op)
        if bound.slow:
            _, error, spent = await self._pieces.waited(bound, view, bound.function, view)
            value = None
        else:
            value, error, spent = self._pieces.now(view, bound.function, view)
        await self._settle(bound, view, value, error, spent)

    async def _settle(self, bound: Bound, view: Operation, value: Any, error: BaseException | None, spent: int) -> None:
        """Wait for what a hook returned, if it must be waited for, and act on what it did."""
        if value is not None and hasattr(value, "__await__"):
            _, error, spent = await self._pieces.waited(bound, view, as_is, value)
        if error is not None:
            self._verdicts.failed(bound, meant(error), spent)
        elif view._answered:
            self._verdicts.replace(bound, view._take()[2], spent, view._reason)
        else:
            self._verdicts.allow(bound, spent)

    async def _look_together(self) -> None:
        """Run concurrent ``after`` hooks, then apply their results in order."""
        op, verdicts, before = self._op, self._verdicts, self._op.error
        asked = [one for one in self._plan.together if not one.selective or wanted(one, self._pieces, verdicts)]
        asked = [one for one in asked if one.gate or not one.budgeted or not verdicts.over_budget(one)]
        if op.error is not before or not asked:
            return
        for bound, view, (_, error, spent) in await together(self._pieces, asked):
            refused = op.error is not before or verdicts.stopped
            if refused and isinstance(error, Reject):  # as the one before it
                verdicts.record(bound, "reject", error.reason, spent, error)
            elif error is not None:
                verdicts.failed(bound, error, spent, keep=refused)
            elif view._answered and not refused:
                verdicts.replace(bound, view._take()[2], spent, view._reason)
            else:
                verdicts.allow(bound, spent)
