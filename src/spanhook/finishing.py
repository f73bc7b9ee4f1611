"""Starting the hooks of an operation and seeing it through to its end, for calls and streams alike."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from contextlib import suppress
from contextvars import copy_context
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from spanhook.accounting import account, tally
from spanhook.chain import Chain
from spanhook.driving import astep, step
from spanhook.errors import internal
from spanhook.hook import Reject
from spanhook.lifecycle import conclude, end, enter, restore
from spanhook.loops import private_loop
from spanhook.operation import Operation
from spanhook.plain import pass_plain
from spanhook.threads import reaper

if TYPE_CHECKING:
    Run = CoroutineType[Any, Any, None]
else:
    Run = CoroutineType  # not subscriptable before Python 3.13

_apart: set["asyncio.Task[None]"] = set()
"""Strong references to tasks that end cancelled operations; the event loop keeps only weak ones."""


def start(op: Operation, *, is_async: bool, direct: Callable[[], Awaitable[None]] | None = None) -> Run | None:
    """The chain of ``op``; ``None`` where it has no hooks, or only such as have run already.

    The operation's context is current.
    """
    plan, passed = op.plan, None
    if plan is None:
        return None
    if plan.passes and op.error is None and not op.foreign:
        try:
            passed = pass_plain(op, plan)
        except BaseException as error:
            _broken(op, error)
            return None
        if passed is None:
            return None
    if is_async:
        reaper.start()  # a coroutine may be closed by the garbage collector, where no thread can be started
    return Chain(op, plan, is_async, tally, conclude, direct).run(passed)


def passes(op: Operation, run: Run | None) -> bool:
    """Run the gates; whether the call is to be made. The operation's context is current."""
    if run is None:
        return op.error is None
    try:
        return step(run)
    except BaseException as error:
        return _broken(op, error)


async def apasses(op: Operation, run: Run | None) -> bool:
    """``passes`` for async code."""
    if run is None:
        return op.error is None
    try:
        return await astep(run) and op.error is None
    except BaseException as error:
        return _broken(op, error)


def _broken(op: Operation, error: BaseException) -> bool:
    """Gates that could not be run let nothing pass."""
    if isinstance(error, Exception):
        reject = Reject("spanhook could not run its hooks", status_code=500)
        reject.__cause__ = error
        op.error, op.decided = reject, True
        conclude(op)
        internal.report("chain", error)
    else:
        op.error = error
        conclude(op)
    return False


def finish(op: Operation, run: Run | None) -> None:
    """Run what comes after the call and end the operation. Its context is current."""
    account(op)
    if run is not None:
        try:
            while run.cr_frame is not None and step(run):
                pass
        except Exception as error:
            internal.report("chain", error)
    conclude(op)
    end(op)


async def afinish(op: Operation, run: Run | None) -> None:
    """``finish`` for async code.

    Error hooks of a cancelled operation run in a task of their own, which is awaited once; cancelled again, it
    finishes by itself.
    """
    account(op)
    if isinstance(op.error, GeneratorExit):
        # The coroutine is being closed and must not wait for anything.
        if run is None:
            finish(op, run)
        else:
            orphan(op, run, is_async=True)
        return
    apart = False
    if run is not None and run.cr_frame is not None:
        try:
            # Cancelled in a gate, the chain waits already for its error hooks to be run apart.
            apart = op.status == "cancelled" or await astep(run)
        except Exception as error:
            internal.report("chain", error)
    if not apart or run is None:
        conclude(op)
        end(op)
        return
    task = asyncio.get_running_loop().create_task(_rest(op, run))
    _apart.add(task)
    task.add_done_callback(_apart.discard)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)


async def _rest(op: Operation, run: Run) -> None:
    try:
        if run.cr_frame is not None:
            await astep(run)
    except Exception as error:
        internal.report("chain", error)
    conclude(op)
    end(op)


def orphan(op: Operation, run: Run | None, *, is_async: bool, loop: asyncio.AbstractEventLoop | None = None) -> None:
    """Have an operation ended whose caller is gone, on the reaper's thread.

    Async hooks of an async call run on its ``loop`` if that is still running, else on spanhook's own.
    """
    op.root.loose = True
    context = copy_context()
    if reaper.here():
        context.run(_finish_alone, op, run, is_async, loop)
    else:
        reaper.put(lambda: context.run(_finish_alone, op, run, is_async, loop))


def _finish_alone(op: Operation, run: Run | None, is_async: bool, loop: asyncio.AbstractEventLoop | None) -> None:
    held = enter(op)
    try:
        if run is None or not is_async:
            finish(op, run)
            return
        account(op)
        if loop is None or not loop.is_running() or not _rested_on(loop, op, run):
            asyncio.run_coroutine_threadsafe(_rest(op, run), private_loop.get()).result(30.0)
    finally:
        restore(held)


def _rested_on(loop: asyncio.AbstractEventLoop, op: Operation, run: Run) -> bool:
    """Run what is left on the application's loop; false if that was left before it got to it."""
    rest = _rest(op, run)
    try:
        future = asyncio.run_coroutine_threadsafe(rest, loop)
        for _ in range(600):
            if future.done() or loop.is_closed():
                break
            wait([future], 0.05)
        else:
            return True  # the loop is busy; it will get to it
    except RuntimeError:  # closed meanwhile
        pass
    if not op.ended:
        rest.close()
    return op.ended
