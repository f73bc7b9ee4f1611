"""Runs one piece of a hook's code, timed; its view is sealed once it has returned.

This module does not know which hooks there are, or the effects of their decisions.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from spanhook.concurrency import is_being_cancelled
from spanhook.errors import HookError, TimedOut
from spanhook.gating._hosts import Host, host_for
from spanhook.gating._refusals import refusal_before
from spanhook.gating.binding import Bound
from spanhook.model import RETURNED, TIMED_OUT, InHook, Operation, Record, clock, current

Outcome = tuple[Any, BaseException | None, int]
"""What a piece of hook code returned, what it raised, and its nanoseconds."""


class Pieces(InHook):
    """Runs pieces of the hooks of one operation, and is the current object meanwhile.

    Args:
        op: The operation.
        is_async: Whether the call is awaited.
    """

    def __init__(self, op: Record, *, is_async: bool) -> None:
        self.op, self.is_async = op, is_async

    def host(self) -> Host:
        """How hooks are waited for here: what is left of a chain may run elsewhere than it began."""
        return host_for(is_async=self.is_async and not self.op.ending.unawaited)

    def now(self, view: Operation, function: Callable[..., Any], *args: Any) -> Outcome:
        """Run code that does not have to be awaited."""
        value = error = None
        held = current.get()  # not always the operation, as in hooks that await `call_next`
        current.set(self)
        view._locked = ""
        started = clock.now()
        try:
            value = function(*args)
        except BaseException as raised:
            error = meant(raised)
        spent = clock.now() - started
        view._locked = RETURNED
        current.set(held)
        try:
            return value, error, spent
        finally:
            del error  # its traceback holds this frame

    async def waited(self, bound: Bound, view: Operation, function: Callable[..., Any], *args: Any) -> Outcome:
        """Run code that may have to be awaited, for as long as ``bound`` may take.

        Most hooks are plain functions, so no coroutine is created for each run.
        """
        value = error = None
        held = current.get()  # as in `now`
        current.set(self)
        view._locked = ""
        started = clock.now()
        try:
            if bound.blocking:
                value, error = await self.host().blocking(view, bound.timeout_ns, function, args)
            else:
                value = function(*args)
                if value is not None and hasattr(value, "__await__"):
                    value = await self.host().settle(view, bound.timeout_ns, value)
        except BaseException as raised:
            value, error = None, raised
        if error is not None:
            error = meant(error)
        spent = clock.now() - started
        error = sealed(view, error)
        current.set(held)
        try:
            return value, error, spent
        finally:
            del error  # as in `now`


def sealed(view: Operation, error: BaseException | None) -> BaseException | None:
    """Seal the view of a hook that has ended.

    Returns:
        What the hook raised. If it ran out of time after it had decided to refuse, the refusal.
    """
    timed_out = isinstance(error, TimedOut)
    if view._locked is not TIMED_OUT:  # a host seals the view of a hook that it abandons
        view._locked = TIMED_OUT if timed_out else RETURNED
    decided = view._refusal() if timed_out and view._refusal is not None else None
    return decided or error


def meant(error: BaseException) -> BaseException:
    """The exception from a hook; a cancellation that was not requested is its failure, unless it was refusing."""
    if isinstance(error, asyncio.CancelledError) and not is_being_cancelled():
        if (refusal := refusal_before(error)) is not None:
            return refusal
        failure = HookError("it was left by a CancelledError, although nobody cancelled the call")
        failure.__cause__ = error
        return failure
    return error


def as_is(value: Any) -> Any:
    """A piece of code for an awaitable that another piece has returned."""
    return value
