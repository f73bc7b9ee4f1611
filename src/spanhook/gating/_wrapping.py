"""Async hooks around a call: up to ``call_next()`` before it, and from there on after it.

Such a hook is a coroutine that is driven by hand. It *parks* in ``call_next()``: whoever drives it then makes the call
in its own thread, task and frame, and resumes the hook.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, final

from spanhook.concurrency import astep, is_cancellation, park
from spanhook.errors import HookError
from spanhook.gating._asking import Asking
from spanhook.gating._pieces import meant, sealed
from spanhook.gating.binding import Bound
from spanhook.gating.conclusion import conclude
from spanhook.model import CALLING, Operation, clock, current


@final
class Wrapper:
    """One async hook around a call, as it runs.

    Args:
        run: The runner of the operation's hooks.
        bound: The hook.
        go_on_here: Runs the hooks that follow and the call, for a hook that awaits ``call_next()`` in another task.
    """

    __slots__ = ("_coroutine",)

    slot = -1
    """It is never resumed inline."""

    def __init__(self, run: Asking, bound: Bound, go_on_here: Callable[[], Awaitable[None]]) -> None:
        self._coroutine = _around(run, bound, go_on_here)

    async def enter(self, _run: Asking) -> bool:
        """Run it up to ``call_next()``; whether it waits there to be resumed."""
        return await astep(self._coroutine)

    async def leave(self, _run: Asking) -> None:
        """Resume it after the call."""
        await astep(self._coroutine)

    def close(self) -> None:
        """Drop it; the operation goes on elsewhere."""
        self._coroutine.close()


async def _around(run: Asking, bound: Bound, go_on_here: Callable[[], Awaitable[None]]) -> None:
    op = run.op
    inside, called, finished = 0, False, False
    host, view = run.host(), Operation(op)
    held: Any = op
    current.set(run)
    started = clock.now()

    async def proceed(elsewhere: bool) -> None:
        nonlocal inside, called, finished, held
        called = True
        entered = clock.now()
        view._locked = CALLING
        current.set(op)
        if view._changed:
            await run.judge(bound, entered - started, view)
        if not elsewhere:
            await park()
            held = current.get()  # not always the operation: a stream may have ended after its last step
        elif op.error is None:
            await go_on_here()
        else:
            conclude(op)
        view._reread()
        view._locked = ""
        current.set(run)
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
    verdicts = run.verdicts
    if not called:
        if error is None:
            verdicts.unyielded(bound, value, spent, "calling call_next()")
        else:
            verdicts.failed(bound, error, spent)
        return
    if error is None and not finished:
        error = HookError("it returned while call_next() was still running; await it")
    if error is None:
        verdicts.returned(bound, view, value, spent)
    else:
        verdicts.left(bound, error, failure, spent)
