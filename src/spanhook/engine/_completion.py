"""Completes an operation once its call is over, for calls and streams alike."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import wait
from contextlib import nullcontext, suppress
from contextvars import Context, copy_context
from functools import partial
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any

from spanhook.concurrency import Dropped, drive, private_loops, reaper, running_loop, shielded, under_trio
from spanhook.diagnostics import internal
from spanhook.engine._gates import apasses, arun_rest, passes, run_rest
from spanhook.engine._lasting import end_lasting
from spanhook.engine._pending import await_end, leave_to_reaper
from spanhook.engine._withheld import hand_out
from spanhook.engine.beginning import Beginning, begin
from spanhook.engine.lifecycle import end, outcome
from spanhook.gating import Waiting, conclude
from spanhook.model import EndDetails, Following, HookDecisions, Record, ambient, current
from spanhook.telemetry import account, context_with, set_context

_apart: set["asyncio.Task[None]"] = set()
"""Strong references to tasks that end cancelled operations; the event loop keeps only weak ones."""


def finish(op: Record) -> None:
    """Run the hooks after the call and end the operation. Its context is current."""
    if op.lasting is not None:
        drive(end_lasting(op, _finished))
    account(op)
    if op.adapter.follows is not None and not op.resumed and (followers := _followers(op)):
        drive(_follow(op, followers, is_async=False))
    if op.runner is None:
        conclude(op)
    else:
        run_rest(op)
    if op.deferred.outputs:
        drive(hand_out(op, is_async=False))
    end(op)


async def _finished(op: Record) -> None:
    """``finish`` for an operation that has awaited, in code that cannot."""
    op.part(EndDetails).unawaited = True
    finish(op)


async def afinish(op: Record) -> None:
    """``finish`` for async code.

    Error hooks of a cancelled operation run in a separate task, which is awaited once; if cancelled again, it finishes
    on its own. Under Trio they run in the caller's task, shielded.
    """
    if op.lasting is not None:
        await end_lasting(op, _finished if isinstance(op.error, GeneratorExit) else afinish)
    account(op)
    if isinstance(op.error, GeneratorExit):
        # The coroutine is being closed and must not await anything.
        if op.runner is None:
            finish(op)
        else:
            orphan(op, is_async=True)
        return
    if op.adapter.follows is not None and (followers := _followers(op)):
        await _follow(op, followers, is_async=True)
    if not await arun_rest(op):
        if op.deferred.outputs:
            await hand_out(op, is_async=True)
        end(op)
        return
    loop = running_loop()
    if loop is None:  # Trio has no detached tasks
        with shielded() if under_trio() else nullcontext():
            await _rest(op)
        return
    task = loop.create_task(_rest(op, dropped=left(op)))
    op.handed = True
    _apart.add(task)
    task.add_done_callback(_apart.discard)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)


async def _rest(op: Record, waiting: Waiting | None = None, *, dropped: Dropped | None = None) -> None:
    """Run the hooks that are left, apart from the call, and end the operation.

    Args:
        op: The operation.
        waiting: What its runner has begun.
        dropped: Ends it if this coroutine is dropped before it begins.
    """
    try:
        if dropped is not None:
            dropped.hand = int
        try:
            if waiting is not None:
                await waiting
            for begin_rest in (op.runner.leave, op.runner.observe):
                if (waiting := begin_rest()) is not None:
                    await waiting
        except Exception as error:
            internal.report("chain", error)
        conclude(op)
        if op.deferred.outputs:
            await hand_out(op, is_async=True)
        end(op)
    except BaseException as error:
        if not op.reported:
            reaper.put((interrupted, op, True, None, error))
            await_end(op)
        raise


# ------------------------------------------------------------------------------- operations that follow from a call


def _followers(op: Record) -> Iterable[Following]:
    assert op.adapter.follows is not None
    try:
        return op.adapter.follows(op.instance, op.args, op.kwargs, op.result, op.error)
    except Exception as error:
        internal.report("extract.follows", error)
        return ()


async def _follow(op: Record, followers: Iterable[Following], *, is_async: bool) -> None:
    """Open the operations that follow from the call's outcome; a refused one changes that outcome."""
    for following in _told(followers):
        try:
            instead = await _instantly(following, is_async=is_async)
        except BaseException as error:
            op.error = error
            return
        if instead is not None:
            decided = op.part(HookDecisions)
            op.result, op.error, decided.replaced = instead, None, True
            return


def _told(followers: Iterable[Following]) -> Iterator[Following]:
    try:
        yield from followers
    except Exception as error:
        internal.report("extract.follows", error)


async def _instantly(following: Following, *, is_async: bool) -> Any:
    """Run an operation without duration: its gates, its span, and its hooks afterwards.

    Returns:
        ``None`` if it is allowed; otherwise what replaces the result that it follows from.

    Raises:
        Reject: It was refused, and there is no replacement.
    """

    async def run(op: Record) -> bool:
        async def call() -> None:
            op.called = True

        if await apasses(op, call) if is_async else passes(op):
            op.called = True
        if is_async:
            await afinish(op)
        else:
            finish(op)
        return False

    op = await operate(lambda: begin(following.adapter, following.instance, (), {}), run, is_async=is_async)
    return outcome(op) if type(op) is Record else None


async def operate(
    begins: Callable[[], Beginning], body: Callable[[Record], Awaitable[bool]], *, is_async: bool
) -> Beginning:
    """Begin an operation and run ``body`` in its context; whatever interrupts that, it ends. See ``calls``.

    Args:
        begins: Begins it, as a Python function: a C function would be followed by a place for interrupts.
        body: Returns whether the operation goes on afterwards, with its context current. Whoever awaits this calls
            nothing before returning then: an interrupt there would leave the operation current.
        is_async: Whether its hooks are those of an awaited call.

    Returns:
        What has begun. ``body`` has not run if that is not an operation of its own.
    """
    op = begins()
    if type(op) is not Record:
        return op
    goes_on = False
    try:
        try:
            set_context(context_with(op.span, op.before))
            current.set(op)
            goes_on = await body(op)
        finally:
            if not goes_on:
                try:
                    set_context(op.before)
                finally:
                    current.set(op.held)
    except BaseException as error:
        op.ended = True
        if not op.reported and not op.handed:
            reaper.put((interrupted, op, is_async, None, error))
            await_end(op)
        raise
    return op


# ---------------------------------------------------------------------------------- ending without a waiting caller


def left(op: Record) -> Dropped:
    """An object that ends ``op`` if the coroutine that should do so is dropped before it begins."""
    reaper.start()
    return Dropped(partial(reaper.put, (interrupted, op, True, None, GeneratorExit())))


def orphan(op: Record, *, is_async: bool, loop: asyncio.AbstractEventLoop | None = None) -> None:
    """End an operation whose caller is gone, on the reaper's thread.

    Async hooks of an async call run on its ``loop`` if it is still running, else on spanhook's own.
    """
    leave_to_reaper(op)
    context = copy_context()
    if reaper.here():
        context.run(_finish_alone, op, is_async, loop)
    else:
        op.handed = True
        reaper.put((context.run, _finish_alone, op, is_async, loop))


def interrupted(op: Record, is_async: bool, loop: asyncio.AbstractEventLoop | None, error: BaseException) -> None:
    """Complete an operation whose driver was interrupted by ``error``, on the reaper's thread.

    It may already be partly ended; completed steps are not repeated.
    """
    if op.reported:
        return
    op.ends_again()
    if not op.end_ns and op.error is None:
        op.error = error
    try:
        Context().run(_finish_alone, op, is_async, loop)
    except BaseException as again:
        if internal.fatal:  # already raised where it happened
            return
        conclude(op)
        end(op)
        if type(again) is not type(error):
            raise


def _finish_alone(op: Record, is_async: bool, loop: asyncio.AbstractEventLoop | None) -> None:
    """Complete an operation in its own context."""
    set_context(context_with(op.span, op.before))
    current.set(op)
    ambient.set(op.ambient)
    if op.end_ns:
        end(op)
    elif op.runner is None or not is_async:
        finish(op)
    else:
        if op.lasting is not None:
            drive(end_lasting(op, _finished))
        account(op)
        if not op.runner.done and loop is not None and loop.is_running() and _rested_on(loop, op):
            return
        waiting = op.runner.leave() or op.runner.observe()
        if waiting is None:
            finish(op)
        else:
            asyncio.run_coroutine_threadsafe(_rest(op, waiting), private_loops.get().loop).result(30.0)


def _rested_on(loop: asyncio.AbstractEventLoop, op: Record) -> bool:
    """Run the rest on the application's loop; false if the loop stopped before it got to it."""
    rest = _rest(op)
    try:
        future = asyncio.run_coroutine_threadsafe(rest, loop)
        for _ in range(600):
            if future.done() or loop.is_closed():
                break
            if not loop.is_running():  # it may never run again
                if getcoroutinestate(rest) != CORO_CREATED:
                    return True  # what it has begun, only it can finish
                break
            wait([future], 0.05)
        else:
            return True  # the loop is busy; it will get to it
    except RuntimeError:  # closed in the meantime
        pass
    if not op.ended:
        try:
            rest.close()
        except ValueError:  # it runs again, and has just begun it
            return True
    return op.ended
