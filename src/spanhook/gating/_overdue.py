"""Hooks that have run out of time: what is said about them, and the refusals that they were making, which stand."""

import asyncio
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import Any

from spanhook.concurrency import Remote, handled_in
from spanhook.errors import Reject, TimedOut
from spanhook.gating._refusals import refusal_among, refusal_before
from spanhook.gating.binding import Bound
from spanhook.model import Operation

Outcome = tuple[Any, BaseException | None]
"""What a hook returned, and what it raised."""


async def within(timer: asyncio.Timeout, awaitable: Awaitable[Any]) -> Any:
    """Await a hook in the call's own task, for as long as ``timer`` allows.

    Raises:
        TimedOut: It ran out of time.
        Reject: It ran out of time while it refused.
    """
    try:
        async with timer:
            result = await awaitable
    except TimeoutError as error:
        if timer.expired():
            cancelled = error.__cause__ or error.__context__  # CPython 3.11.2 sets no cause
            raise (cancelled and refusal_before(cancelled)) or TimedOut() from None
        raise
    if timer.expired():  # it swallowed the cancellation; what it returned since comes too late
        raise TimedOut
    return result


async def refusal_elsewhere(remote: Remote, view: Operation) -> Reject | None:
    """Cancel a hook on a loop of ours; returns the refusal that it was making, if there is one."""
    try:
        refusal = _refusal_of(view, remote.handled())
    finally:
        begun = remote.cancel()
    if refusal is not None or not begun:
        return refusal
    return _refusal_of(view, await remote.last_words())


def refusal_in_thread(future: "Future[Outcome]", thread: int | None, view: Operation) -> Reject | None:
    """The refusal that a hook is making in a worker.

    Args:
        future: Its outcome.
        thread: The number of the worker's thread; ``None`` if the hook has not begun.
        view: Its view.
    """
    handled = None if thread is None else handled_in(thread)
    if future.done():  # then the thread may already run another hook
        handled = None if future.cancelled() else future.result()[1]
    return _refusal_of(view, handled)


def _refusal_of(view: Operation, error: BaseException | None) -> Reject | None:
    """The refusal that a hook was making when ``error`` came in its way, unless it is among what the call failed with,
    such as the refusal of a tool that a framework raises as an exception of its own.
    """
    refusal = None if error is None else refusal_among(error)
    failure = None if refusal is None else view.error
    return None if failure is not None and refusal is refusal_among(failure) else refusal


def overran(bound: Bound, spent: int) -> bool:
    """Whether a hook that cannot be interrupted took longer than it may."""
    return bound.timeout_ns is not None and spent > bound.timeout_ns and not bound.slow


def overrun(bound: Bound, spent: int) -> str:
    return f"ran {duration(spent)} of {duration(bound.timeout_ns or 0)}"


def duration(nanoseconds: int) -> str:
    """A duration for messages."""
    return f"{nanoseconds / 1e6:.4g} ms" if nanoseconds < 1_000_000_000 else f"{nanoseconds / 1e9:.4g} s"
