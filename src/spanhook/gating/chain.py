"""Runs the hooks of one operation, in order, around its call.

A chain is one coroutine that parks while the call is made (see ``coroutines``). The call's outcome is in ``op.result``
and ``op.error``; nothing is raised through the chain, so no hook can lose it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from spanhook.concurrency import is_cancellation, park
from spanhook.errors import FailedResult, HookError, Reject
from spanhook.gating._decisions import Verdicts
from spanhook.gating._filtering import wanted
from spanhook.gating._generators import Generator
from spanhook.gating._nesting import nest
from spanhook.gating._observing import Observers
from spanhook.gating._pieces import Pieces, as_is, meant, sealed
from spanhook.gating.binding import AROUND, BEFORE_NEXT, WRAP, Bound
from spanhook.gating.conclusion import conclude
from spanhook.gating.fast_path import Passed, Told
from spanhook.gating.listener import Tally
from spanhook.gating.plan import Plan
from spanhook.gating.subscription import publish
from spanhook.model import CALLING, Operation, Record, clock, current, note_gated


class Chain:
    """The hooks of one operation, as they run.

    Args:
        op: The operation; its span is current in the caller's context.
        plan: The hooks of its kind.
        is_async: Whether the call is awaited.
        tally: Called with every decision.
        direct: Makes the call from within the chain where parking is impossible; ``None`` if that is not supported.
    """

    __slots__ = ("_direct", "_op", "_pieces", "_plan", "_ran", "_tally", "_verdicts")

    def __init__(
        self,
        op: Record,
        plan: Plan,
        is_async: bool,
        tally: Tally,
        direct: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._op, self._plan = op, plan
        self._direct = direct
        self._pieces = Pieces(op, is_async)
        self._tally, self._verdicts = tally, Verdicts(op, tally)
        self._ran: list[Bound] = []

    async def run(self, passed: Passed | None = None) -> None:
        """Run the gates from where ``passed`` got to, park while the call is made, then run what comes after it."""
        op, told, after = self._op, None, 0
        if passed is not None:
            self._ran, self._verdicts.spent = passed.ran(self._plan), passed.spent
            after = passed.after
            told = await self._resume(passed)
        elif op.error is None:
            await self._enter(0)
        if not after or op.error is not None:
            conclude(op)
        if op.status == "cancelled" and any(bound.slow for bound in self._plan.error):
            await park()  # async drivers let the rest run in a task of its own
        plan = self._plan
        if plan.error if op.phase == "error" else (plan.post or plan.together):
            await Observers(plan, self._pieces, self._verdicts).run(after if op.phase == "post" else 0, told=told)
        if plan.error and op.error is None and op.adapter.fault is not None:
            await self._tell_of_fault()

    async def _resume(self, passed: Passed) -> Told | None:
        """Continue before or after the call. Returns what the last hook after the call did, if that is to be judged."""
        op, gates, told = self._op, self._plan.pre, passed.told
        entered = [Generator(gates[index], view, body, spent) for index, view, body, spent in passed.entered]
        if passed.called:
            await park()
        else:
            if told is not None:
                bound, (value, error, spent, view, body) = gates[passed.index - 1], told
                if body is None:
                    await self._settle(bound, value, error, spent, view)
                else:
                    last = Generator(bound, view, body)
                    if await last.arrived((value, error, spent), self._pieces, self._verdicts, self._judge):
                        entered.append(last)
                told = None
            if op.error is None:
                await self._enter(passed.index)
        if op.error is not None or not (told or passed.after):  # else it is concluded, and hooks have seen that
            conclude(op)
        if passed.after:
            return told if op.error is None else None
        if told is not None:
            entered.pop().left(told[1], told[2], None, self._verdicts)
            conclude(op)
        for one in reversed(entered):
            await one.leave(self._pieces, self._verdicts)
            conclude(op)
        return None

    async def _tell_of_fault(self) -> None:
        """Run ``on_error`` hooks for a result which says that the call failed, once it is settled; it is returned."""
        op = self._op
        conclude(op)
        if not op.fault:
            return
        failed = op.error = FailedResult(op.fault)
        conclude(op)
        await Observers(self._plan, self._pieces, self._verdicts).run()
        if op.error is failed:
            op.error = None

    # ------------------------------------------------------------------------------------ before the call

    async def _enter(self, index: int, *, foreign: bool = False, asking: bool = False) -> int:
        """Run the hooks from ``index`` on, then the call.

        Args:
            index: The first hook to run.
            foreign: Whether other code drives this coroutine, so that it cannot park.
            asking: Only run gates, up to the first around the call.

        Returns:
            Where it has come to.
        """
        op, gates = self._op, self._plan.pre
        while index < len(gates):
            bound = gates[index]
            if bound.selective and not self._wants(bound):
                if op.error is not None:
                    return index
                index += 1
                continue
            if bound.form in (AROUND, WRAP):
                if not asking:
                    await (self._around if bound.form == AROUND else self._wrap)(bound, index + 1, foreign)
                return index
            if bound.form == BEFORE_NEXT:
                index = await self._before_next(bound, index)
            else:
                await self._before(bound)
                index += 1
            if op.error is not None:
                return index
            self._ran.append(bound)
        if asking:
            return index
        if op.later is not None and op.short_circuited:
            await self._act_once()
            if op.error is not None:
                return index
        if self._plan.heard:
            publish(op, "pre", self._tally)
        if op.short_circuited and not op.adapter.block:
            return index
        if not foreign:
            await park()
        elif self._direct is not None:
            await self._direct()
        else:
            raise HookError("on a stream or a `with` block, call_next() must be awaited in the hook's own task")
        conclude(op)
        return index

    async def _act_once(self) -> None:
        """The call is answered, so no body receives anything: hooks that waited for the last look act now."""
        op = self._op
        waiting, op.later = op.later.once, None
        for bound in waiting:
            if op.error is None and (not bound.selective or self._wants(bound)):
                await self._before(bound)

    async def _before_next(self, bound: Bound, index: int, *, again: bool = False) -> int:
        """Run a gate around those that follow it. Returns the index of the next one to run."""
        index += 1

        async def apply(spent: int, view: Operation) -> None:
            await self._judge(bound, spent, view, again=again)

        async def go_on() -> None:
            nonlocal index
            if not again:
                index = await self._enter(index, asking=True)

        await nest(self._op, bound, self._pieces, self._verdicts, apply, go_on)
        return index

    async def _before(self, bound: Bound, *, again: bool = False) -> None:
        """Run a gate of any form."""
        if bound.form == BEFORE_NEXT:
            await self._before_next(bound, 0, again=again)
            return
        view = Operation(self._op)
        if bound.slow:
            outcome = await self._pieces.waited(bound, view, bound.function, view)
        else:
            outcome = self._pieces.now(view, bound.function, view)
        await self._settle(bound, *outcome, view, again=again)

    async def _settle(
        self,
        bound: Bound,
        value: Any,
        error: BaseException | None,
        spent: int,
        view: Operation,
        *,
        again: bool = False,
    ) -> None:
        """Wait for what a gate returned, if it must be waited for, and act on what it did."""
        if value is not None and hasattr(value, "__await__"):
            value, error, spent = await self._pieces.waited(bound, view, as_is, value)
        if error is None and value is not None:
            if isinstance(value, type) and issubclass(cast("type[Any]", value), Reject):
                value = value()
            error = value if isinstance(value, Reject) else HookError(_RETURNED.format(type(value).__name__))
        if error is not None:
            self._verdicts.failed(bound, meant(error), spent)
        elif view._changed:
            await self._judge(bound, spent, view, again=again)
        else:
            self._verdicts.allow(bound, spent)

    async def _judge(self, bound: Bound, spent: int, view: Operation, *, again: bool = False) -> None:
        """Act on what a hook did before the call, beyond letting it pass."""
        op = self._op
        rewritten, answered, answer = view._take()
        if rewritten is not None:
            op.rewrite(rewritten)
            if op.gated is not None:
                note_gated(op)
            self._verdicts.record(bound, "modify", view._reason or ", ".join(op.modified), spent)
            spent = 0  # counted
            if not again:
                await self._run_again(bound)
        if answered and op.error is None:
            self._verdicts.answer(bound, answer, spent, view._reason)

    async def _run_again(self, rewriter: Bound) -> None:
        """Run the gates before a rewrite once more, on the new request, including those whose filters now match."""
        for bound in self._plan.pre:
            if bound is rewriter:
                return
            if bound.asked_again and (any(bound is one for one in self._ran) or self._wants(bound)):
                await self._before(bound, again=True)
            if self._op.error is not None:
                return

    # ------------------------------------------------------------------------------------ around the call

    async def _around(self, bound: Bound, index: int, foreign: bool) -> None:
        """A generator: up to its ``yield`` before the rest of the chain, from there on after it."""
        generator = Generator.made(self._op, bound)
        outcome = await generator.enter(self._pieces)
        waits = await generator.arrived(outcome, self._pieces, self._verdicts, self._judge)
        await self._go_on(index, foreign)
        if waits:
            await generator.leave(self._pieces, self._verdicts)

    async def _wrap(self, bound: Bound, index: int, foreign: bool) -> None:
        """An async hook that awaits ``call_next`` for the rest of the chain."""
        op = self._op
        inside, called, finished = 0, False, False
        host, view = self._pieces.host(), Operation(op)
        held: Any = op
        current.set(self._pieces)
        started = clock.now()

        async def proceed(elsewhere: bool) -> None:
            nonlocal inside, called, finished, held
            called = True
            entered = clock.now()
            view._locked = CALLING
            current.set(op)
            if view._changed:
                await self._judge(bound, entered - started, view)
            await self._go_on(index, foreign or elsewhere)
            if not elsewhere:
                held = current.get()  # not always the operation: a stream may have ended after its last step
            view._reread()
            view._locked = ""
            current.set(self._pieces)
            inside, finished = clock.now() - entered, True

        value = error = None
        cancelling = host.cancelling()
        try:
            value = await host.wrap(view, bound.timeout_ns, bound.function, proceed)
        except BaseException as raised:
            error = raised
        error = sealed(view, error)
        current.set(held)
        spent = clock.now() - started - inside
        failure = view.error if called else None
        if error is not None and not is_cancellation(failure):
            error = meant(error)
        left_alive = isinstance(op.error, asyncio.CancelledError) and not is_cancellation(error)
        if left_alive and not host.moves_async and host.cancelling() == cancelling:
            # The hook itself cancelled the call, as `asyncio.timeout` does, and has taken it back.
            op.error = failure = error or TimeoutError(f"hook {bound.name!r} gave up on the call")
            conclude(op)
        if called:
            if error is None and not finished:
                error = HookError("it returned while call_next() was still running; await it")
            if error is None:
                self._verdicts.returned(bound, view, value, spent)
            else:
                self._verdicts.left(bound, error, failure, spent)
            return
        if error is None:
            self._verdicts.unyielded(bound, value, spent, "calling call_next()")
        else:
            self._verdicts.failed(bound, error, spent)
        await self._go_on(index, foreign)

    async def _go_on(self, index: int, foreign: bool) -> None:
        if self._op.error is None:
            await self._enter(index, foreign=foreign)
        conclude(self._op)

    def _wants(self, bound: Bound) -> bool:
        return wanted(bound, self._pieces, self._verdicts)


_RETURNED = "it returned a {}, which says nothing; raise Reject(...) to refuse, op.respond(...) to answer"
