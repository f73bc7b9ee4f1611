"""Runs the hooks of one operation, in order, around its call.

``enter`` runs those before the call, ``leave`` resumes those that wait around it, ``observe`` runs those after it. Each
runs hooks inline as long as they let the operation pass; where one waits, decides or fails, it returns a coroutine that
goes on from there. The runner knows how far it has come: after an interrupt others go on, and nothing runs twice.
"""

from collections.abc import Awaitable, Callable
from typing import Any, final

from spanhook.errors import HookError
from spanhook.gating._asking import Waiting
from spanhook.gating._decisions import budget_ns
from spanhook.gating._generators import Generator
from spanhook.gating._observing import Observing
from spanhook.gating._wrapping import Wrapper
from spanhook.gating.binding import AROUND, WRAP, Bound
from spanhook.gating.conclusion import conclude
from spanhook.gating.plan import Plan
from spanhook.gating.subscription import publish
from spanhook.gating.tally import count_decision
from spanhook.model import RETURNED, Operation, Record, clock, current
from spanhook.telemetry import counts


@final
class Runner(Observing):
    """The hooks of one operation, as they run.

    Args:
        op: The operation; its span is current in the caller's context.
        plan: The hooks of its kind.
        is_async: Whether the call is awaited.
        tally: Called with every decision.
        direct: Makes the call for a hook that awaits ``call_next()`` in another task, if that is supported.

    Attributes:
        done: Everything has run.
    """

    _index, _passed, _made, done = 0, False, False, False

    def __init__(
        self,
        op: Record,
        plan: Plan,
        tally: Callable[..., None] = count_decision,
        *,
        is_async: bool,
        direct: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        # Not by way of `Pieces`: every operation that has hooks would pay for the call.
        self.op, self.plan, self._tally, self.is_async, self._direct = op, plan, tally, is_async, direct
        self._entered: list[Generator | Wrapper] = []  # those that wait around the call, outermost first

    @property
    def calls(self) -> bool:
        """Whether the call is to be made: no hook has refused it, answered in its place, or made it in another task."""
        op = self.op
        return op.error is None and not self._made and (not op.decided.answered or "block" in op.adapter.traits)

    # ------------------------------------------------------------------------------------ before the call

    def enter(self) -> Waiting | None:
        """Run the hooks before the call."""
        op, plan = self.op, self.plan
        if op.error is not None:
            return None
        if (not plan.fast and plan.pre) or op.coverage != "enforced":  # `allow` has another label then
            return self._enter()
        now, cells = clock.now, counts.decisions.cells(plan.reach)
        index, spent, body = 0, 0, None
        current.set(self)
        try:
            started = now()
            for index, bound, function, slot, limit, selective, generates in plan.fast:  # noqa: B007 - `finally` reads it
                if selective:
                    try:
                        wanted = bound.matches(op)
                    except BaseException as failure:
                        self._skipped = (*self._skipped, bound)
                        self.unmatched(bound, failure)
                        return self._enter()
                    if not wanted:
                        self._skipped = (*self._skipped, bound)
                        started = now()
                        continue
                view = Operation(op)
                try:
                    value = function(view)
                    if generates:
                        body = value
                        value = next(body)
                except BaseException as raised:
                    view._locked = RETURNED
                    return self._enter(self._judge(bound, view, body, None, raised, now() - started))
                ended = now()
                taken, started, view._locked = ended - started, ended, RETURNED
                if value is not None or view._changed or taken > limit:
                    return self._enter(self._judge(bound, view, body, value, None, taken))
                if body is None:
                    cells[slot] += 1
                    cells[slot + 1] += taken
                    spent += taken
                else:
                    self._entered.append(Generator(bound, view, body, taken, slot))
                    body = None
        finally:
            self._index, self._inline_ns = index, spent
            current.set(op)
        if index < len(plan.pre):
            return self._enter()
        if plan.heard:
            publish(op, "pre", self._tally)
        self._passed = True
        self.done = not (self._entered or plan.afterwards)
        return None

    async def _enter(self, first: Waiting | None = None) -> None:
        """Go on before the call, once ``first`` has acted on what the last hook did inline."""
        if first is not None:
            await first
        await self._ask()
        await self._pass()

    async def _judge(
        self, bound: Bound, view: Operation, body: Any, value: Any, error: BaseException | None, spent: int
    ) -> None:
        """Act on what a gate did inline; ``body`` is its generator, if it is one."""
        if body is None:
            await self.apply(bound, view, value, error, spent)
        elif await (generator := Generator(bound, view, body)).arrived((value, error, spent), self):
            self._entered.append(generator)

    async def _ask(self, *, inside: bool = False) -> None:
        """Run the gates that are left.

        Args:
            inside: They run inside another gate, so only up to the first that waits around the call.
        """
        op, gates = self.op, self.plan.pre
        while op.error is None and self._index < len(gates):
            bound = gates[self._index]
            if bound.selective and not self.wants(bound):
                self._skipped = (*self._skipped, bound)
                self._index += 1
                continue
            waits = bound.form in (AROUND, WRAP)
            if waits and inside:
                return
            self._index += 1
            if not waits:
                await self.ask(bound)
                continue
            around = Generator.made(self, bound) if bound.form == AROUND else Wrapper(self, bound, self._go_on_here)
            if await around.enter(self):
                self._entered.append(around)

    async def ask_next(self) -> None:
        await self._ask(inside=True)

    async def _pass(self) -> None:
        """The gates have let the call pass, or have answered: what waits for that."""
        op = self.op
        if self._passed or op.error is not None:
            return
        if op.looking.later is not None and op.decided.answered:
            await self.act_once()
        if op.error is None:
            self._passed = True
            if self.plan.heard:
                publish(op, "pre", self._tally)

    async def _go_on_here(self) -> None:
        """Run the hooks that follow and the call in a task of a hook's own, which nobody can resume."""
        depth = len(self._entered)
        await self._ask()
        await self._pass()
        if self.calls:
            if self._direct is None:
                raise HookError("on a stream or a `with` block, call_next() must be awaited in the hook's own task")
            self._made = True
            await self._direct()
        await self._leave(depth)

    # ------------------------------------------------------------------------------------ around and after the call

    def leave(self) -> Waiting | None:
        """Resume the hooks that wait around the call, innermost first."""
        op, entered = self.op, self._entered
        conclude(op)
        if not entered:
            return None
        if op.error is not None:
            return self._leave()
        now, cells, spent, error = clock.now, counts.decisions.cells(self.plan.reach), 0, None
        current.set(self)
        try:
            started = now()
            while entered:
                waiting = entered[-1]
                if waiting.slot < 0 or op.run.stop is not None:
                    return self._leave()
                assert type(waiting) is Generator
                entered.pop()
                bound, view = waiting.bound, waiting.view
                view._locked = ""
                try:
                    if bound.reads or view.__dict__:  # it has read something before the call
                        view._reread()
                    waiting.body.send(view.result if bound.reads else None)
                except StopIteration as stop:
                    ended = now()
                    taken = waiting.spent + ended - started
                    if stop.value is None and not view._changed and taken <= (bound.timeout_ns or 0):
                        view._locked = RETURNED
                        cells[waiting.slot] += 1
                        cells[waiting.slot + 1] += taken
                        spent += taken
                        started = ended
                        continue
                    error = stop.with_traceback(None)  # it would keep the frames of the whole call
                except BaseException as raised:
                    error = raised
                taken, view._locked = now() - started, RETURNED
                current.set(op)
                waiting.left(error, taken, None, self)
                return self._leave()
        finally:
            error = None  # its traceback holds this frame
            self._inline_ns += spent
            current.set(op)
        return self._leave() if op.run.stop is not None else None

    async def _leave(self, depth: int = 0) -> None:
        """Go on around the call, until ``depth`` hooks wait."""
        conclude(self.op)
        while len(self._entered) > depth:
            await self._entered.pop().leave(self)
            conclude(self.op)

    def observe(self) -> Waiting | None:
        """Run the hooks after the call."""
        op, plan = self.op, self.plan
        if self.done:
            return None
        failed = op.phase == "error"
        hooks, quick = (plan.error, plan.fast_error) if failed else (plan.post, plan.fast_post)
        if hooks is not self.observers:
            self.observers, self.observed = hooks, 0
        if self.observed < len(quick) and op.coverage == "enforced":
            now, cells, spent = clock.now, counts.decisions.cells(plan.reach), 0
            current.set(self)
            try:
                started = now()
                for turn, bound, function, slot, limit, selective, observes in quick[self.observed :]:
                    if observes and self.spent + spent >= budget_ns():
                        return self._observe()
                    self.observed = turn
                    view = Operation(op)
                    try:
                        if selective and not bound.matches(op):
                            continue
                        value = function(view)
                    except BaseException as raised:
                        view._locked = RETURNED
                        return self._observe(self.apply_after(bound, view, None, raised, now() - started))
                    ended = now()
                    taken, started, view._locked = ended - started, ended, RETURNED
                    if value is not None or view._changed or taken > limit:
                        return self._observe(self.apply_after(bound, view, value, None, taken))
                    cells[slot] += 1
                    cells[slot + 1] += taken
                    spent += taken
            finally:
                self._inline_ns += spent
                current.set(op)
        if self.observed < len(hooks) or (not failed and (plan.together or (op.ending.fault and plan.error))):
            return self._observe()
        self.done = True
        if op.run.stop is not None:  # the run has been stopped meanwhile
            conclude(op)
        return None

    async def _observe(self, first: Waiting | None = None) -> None:
        """Go on after the call; ``first`` as in ``_enter``."""
        await self.run_observers(first)
        conclude(self.op)
        self.done = True

    @property
    def detaches(self) -> bool:
        """Whether hooks are left that are waited for although the call was cancelled."""
        return not self.done and self.op.status == "cancelled" and any(bound.slow for bound in self.plan.error)

    def drop(self) -> None:
        """Drop the hooks that wait around the call: the operation goes on elsewhere."""
        self.done = True
        while self._entered:
            self._entered.pop().close()
