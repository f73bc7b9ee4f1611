"""Generator hooks around a call: up to the ``yield`` before it, and from there on after it."""

from collections.abc import Generator as Body
from typing import Any, Self, final

from spanhook.errors import HookError
from spanhook.gating._asking import Asking
from spanhook.gating._pieces import Outcome, as_is, meant
from spanhook.gating.binding import Bound
from spanhook.model import Operation


@final
class Generator:
    """One generator hook, as it runs.

    Args:
        bound: The hook.
        view: Its view.
        body: The generator.
        spent: Its nanoseconds that are not counted yet.
        slot: Where its ``allow`` is counted, if it may be resumed inline; -1 if it may not.
    """

    __slots__ = ("body", "bound", "slot", "spent", "view")

    def __init__(
        self, bound: Bound, view: Operation, body: Body[Any, Any, Any], spent: int = 0, slot: int = -1
    ) -> None:
        self.bound, self.view, self.body, self.spent, self.slot = bound, view, body, spent, slot

    @classmethod
    def made(cls, run: Asking, bound: Bound) -> Self:
        """The generator for an operation; none of its code has run."""
        view = Operation(run.op)
        return cls(bound, view, bound.function(view))

    async def enter(self, run: Asking) -> bool:
        """Run it up to its ``yield``; whether it waits there to be resumed."""
        if self.bound.slow:
            outcome = await run.waited(self.bound, self.view, next, self.body)
        else:
            outcome = run.now(self.view, next, self.body)
        return await self.arrived(outcome, run)

    async def arrived(self, outcome: Outcome, run: Asking) -> bool:
        """Act on what it did up to its ``yield``; whether it waits there to be resumed."""
        bound, view = self.bound, self.view
        value, error, spent = outcome
        if value is not None and hasattr(value, "__await__"):
            _, error, spent = await run.waited(bound, view, as_is, value)
        if error is None:
            self.spent = 0 if view._changed else spent
            if view._changed:
                await run.judge(bound, spent, view)
            return True
        if isinstance(error, StopIteration):
            run.verdicts.unyielded(bound, error.value, spent, "its `yield`")
        else:
            run.verdicts.failed(bound, meant(error), spent)
        return False

    async def leave(self, run: Asking) -> None:
        """Resume it after the call."""
        bound, view = self.bound, self.view
        view._reread()
        failure = None if run.op.error is None else view.error
        resume, given = self.body.throw, failure
        if failure is None:
            resume, given = self.body.send, view.result if bound.reads else None
        _, error, spent = await run.waited(bound, view, resume, given) if bound.slow else run.now(view, resume, given)
        if isinstance(error, StopIteration):
            error.__traceback__ = None  # it would keep the frames of the whole call, and they it
        self.left(error, spent, failure, run)

    def left(self, error: BaseException | None, spent: int, failure: BaseException | None, run: Asking) -> None:
        """Act on what it did after the call.

        Args:
            error: What it raised; ``None`` if it yielded again.
            spent: Its nanoseconds for that.
            failure: What the call failed with, as it got that.
            run: The runner of the operation's hooks.
        """
        spent += self.spent
        if error is None:
            self.body.close()
            error = HookError("a generator hook must yield exactly once")
            run.verdicts.failed(self.bound, error, spent, keep=True)
        elif isinstance(error, StopIteration):
            run.verdicts.returned(self.bound, self.view, error.value, spent)
        else:
            run.verdicts.left(self.bound, meant(error), failure, spent)

    def close(self) -> None:
        """Drop it; the operation goes on elsewhere."""
        self.body.close()
