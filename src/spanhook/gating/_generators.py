"""Runs a generator hook around the call: up to its ``yield`` before it, and from there on after it."""

from collections.abc import Awaitable, Callable
from collections.abc import Generator as Body
from typing import Any, Self

from spanhook.errors import HookError
from spanhook.gating._decisions import Verdicts
from spanhook.gating._pieces import Outcome, Pieces, as_is, meant
from spanhook.gating.binding import Bound
from spanhook.model import Operation, Record

Judge = Callable[[Bound, int, Operation], Awaitable[None]]
"""Acts on what a hook has changed before the call, given its nanoseconds."""


class Generator:
    """One generator hook, as it runs.

    Args:
        bound: The hook.
        view: Its view.
        body: The generator.
        spent: Its nanoseconds that are not counted yet.
    """

    __slots__ = ("_body", "_bound", "_spent", "_view")

    def __init__(self, bound: Bound, view: Operation, body: Body[Any, Any, Any], spent: int = 0) -> None:
        self._bound, self._view, self._body, self._spent = bound, view, body, spent

    @classmethod
    def made(cls, op: Record, bound: Bound) -> Self:
        """The generator for an operation; none of its code has run."""
        view = Operation(op)
        return cls(bound, view, bound.function(view))

    async def enter(self, pieces: Pieces) -> Outcome:
        """Run it up to its ``yield``."""
        if self._bound.slow:
            return await pieces.waited(self._bound, self._view, next, self._body)
        return pieces.now(self._view, next, self._body)

    async def arrived(self, outcome: Outcome, pieces: Pieces, verdicts: Verdicts, judge: Judge) -> bool:
        """Act on what it did up to its ``yield``; whether it waits there to be resumed."""
        bound, view = self._bound, self._view
        value, error, spent = outcome
        if value is not None and hasattr(value, "__await__"):
            _, error, spent = await pieces.waited(bound, view, as_is, value)
        if error is None:
            self._spent = 0 if view._changed else spent
            if view._changed:
                await judge(bound, spent, view)
            return True
        if isinstance(error, StopIteration):
            verdicts.unyielded(bound, error.value, spent, "its `yield`")
        else:
            verdicts.failed(bound, meant(error), spent)
        return False

    async def leave(self, pieces: Pieces, verdicts: Verdicts) -> None:
        """Resume it after the call."""
        bound, view = self._bound, self._view
        view._reread()
        failure = None if pieces.op.error is None else view.error
        resume, given = self._body.throw, failure
        if failure is None:
            resume, given = self._body.send, view.result if bound.reads else None
        _, error, spent = (
            await pieces.waited(bound, view, resume, given) if bound.slow else pieces.now(view, resume, given)
        )
        if isinstance(error, StopIteration):
            error.__traceback__ = None  # it would keep the frames of the whole call, and they it
        self.left(error, spent, failure, verdicts)

    def left(self, error: BaseException | None, spent: int, failure: BaseException | None, verdicts: Verdicts) -> None:
        """Act on what it did after the call.

        Args:
            error: What it raised; ``None`` if it yielded again.
            spent: Its nanoseconds for that.
            failure: What the call failed with, as it got that.
            verdicts: Those of the operation's chain.
        """
        spent += self._spent
        if error is None:
            self._body.close()
            verdicts.failed(self._bound, HookError("a generator hook must yield exactly once"), spent, keep=True)
        elif isinstance(error, StopIteration):
            verdicts.returned(self._bound, self._view, error.value, spent)
        else:
            verdicts.left(self._bound, meant(error), failure, spent)
