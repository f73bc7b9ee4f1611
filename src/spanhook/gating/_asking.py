"""Asks the gates of one operation, and acts on what they did.

The call's outcome is in ``op.result`` and ``op.error``; nothing is raised here, so no hook can lose it.
"""

from collections.abc import Coroutine
from typing import Any

from spanhook.errors import HookError
from spanhook.gating._decisions import Verdicts
from spanhook.gating._nesting import nest
from spanhook.gating._pieces import Pieces, as_is, meant
from spanhook.gating._refusals import returned_refusal
from spanhook.gating.binding import BEFORE_NEXT, Bound
from spanhook.gating.listener import Tally
from spanhook.gating.plan import Plan
from spanhook.model import Looking, Operation, Record, current, note_gated

Waiting = Coroutine[Any, Any, None]
"""What goes on where hooks cannot run inline."""


class Asking(Pieces):
    """The gates of one operation.

    Args:
        op: The operation; its span is current in the caller's context.
        plan: The hooks of its kind.
        is_async: Whether the call is awaited.
        tally: Called with every decision.
    """

    # Defaults, since few operations need more of these than the first.
    _inline_ns = 0
    """Nanoseconds of the hooks that have let the operation pass inline."""
    _verdicts: Verdicts | None = None
    _skipped: tuple[Bound, ...] = ()
    """The gates that have not been asked, most because of their filters."""

    def __init__(self, op: Record, plan: Plan, tally: Tally, *, is_async: bool) -> None:
        super().__init__(op, is_async=is_async)
        self.plan, self._tally = plan, tally

    @property
    def verdicts(self) -> Verdicts:
        """Applies decisions to the operation."""
        made = self._verdicts
        if made is None:
            made = self._verdicts = Verdicts(self.op, self._tally)
        return made

    @property
    def spent(self) -> int:
        """Nanoseconds that hooks have used so far, against the budget of a chain."""
        return self._inline_ns if self._verdicts is None else self._inline_ns + self._verdicts.spent

    def wants(self, bound: Bound) -> bool:
        """Whether the hook's filters let the operation through. ``when`` is the hook's own code and may fail."""
        held = current.get()
        current.set(self)
        try:
            return bound.matches(self.op)
        except BaseException as error:
            self.unmatched(bound, error)
            return False
        finally:
            current.set(held)

    def unmatched(self, bound: Bound, error: BaseException) -> None:
        """The hook's filters have raised ``error``, and so has the hook."""
        self.verdicts.failed(bound, meant(error), 0)

    async def ask(self, bound: Bound, *, again: bool = False) -> None:
        """Run a gate of any form that does not wait around the call."""
        if bound.form == BEFORE_NEXT:
            await self._ask_around(bound, again=again)
            return
        view = Operation(self.op)
        if bound.slow:
            outcome = await self.waited(bound, view, bound.function, view)
        else:
            outcome = self.now(view, bound.function, view)
        await self.apply(bound, view, *outcome, again=again)

    async def _ask_around(self, bound: Bound, *, again: bool) -> None:
        """Run a gate around those that follow it."""

        async def changed(spent: int, view: Operation) -> None:
            await self.judge(bound, spent, view, again=again)

        async def go_on() -> None:
            if not again:
                await self.ask_next()

        await nest(self, bound, self.verdicts, changed, go_on)

    async def ask_next(self) -> None:
        """Run the gates that follow, up to the first around the call."""

    async def act_once(self) -> None:
        """The call is answered, so no body receives anything: hooks that waited for the last look act now."""
        op = self.op
        looking = op.part(Looking)
        waiting, looking.later = looking.later.once, None
        for bound in waiting:
            if op.error is None and (not bound.selective or self.wants(bound)):
                await self.ask(bound)

    async def apply(
        self,
        bound: Bound,
        view: Operation,
        value: Any,
        error: BaseException | None,
        spent: int,
        *,
        again: bool = False,
    ) -> None:
        """Wait for what a gate returned, if it must be waited for, and act on what it did."""
        if value is not None and hasattr(value, "__await__"):
            value, error, spent = await self.waited(bound, view, as_is, value)
        if error is None and value is not None:
            refusal = returned_refusal(value)
            error = HookError(_RETURNED.format(type(value).__name__)) if refusal is None else refusal
        if error is not None:
            self.verdicts.failed(bound, meant(error), spent)
        elif view._changed:
            await self.judge(bound, spent, view, again=again)
        else:
            self.verdicts.allow(bound, spent)

    async def judge(self, bound: Bound, spent: int, view: Operation, *, again: bool = False) -> None:
        """Act on what a hook did before the call, beyond letting it pass."""
        op = self.op
        rewritten, answered, answer = view._take()
        if rewritten is not None:
            op.rewrite(rewritten)
            if op.gated is not None:
                note_gated(op)
            self.verdicts.record(bound, "modify", view._reason or ", ".join(op.decided.modified), spent)
            spent = 0  # counted
            if not again:
                await self.ask_again(bound)
        if answered and op.error is None:
            self.verdicts.answer(bound, answer, spent, view._reason)

    async def ask_again(self, rewriter: Bound) -> None:
        """Run the gates before a rewrite once more, on the new request, including those whose filters now match."""
        for bound in self.plan.pre:
            if bound is rewriter:
                return
            if bound.asked_again and (not any(bound is one for one in self._skipped) or self.wants(bound)):
                await self.ask(bound, again=True)
            if self.op.error is not None:
                return


_RETURNED = "it returned a {}, which says nothing; raise Reject(...) to refuse, op.respond(...) to answer"
