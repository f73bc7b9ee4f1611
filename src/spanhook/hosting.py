"""Where a hook's code runs and how it is waited for: the one difference between hooks on sync and on async calls.

On async calls an async hook runs in the call's own task; on sync calls it runs on spanhook's loop while the caller's
thread waits. Blocking hooks run in worker threads in both.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import Any

from spanhook.current import InHook
from spanhook.driving import rest
from spanhook.errors import HookError, SealedError, internal
from spanhook.loops import NEXT, Remote
from spanhook.operation import TIMED_OUT, Operation
from spanhook.record import Record
from spanhook.threads import Workers

workers = Workers("spanhook-hook")

Outcome = tuple[Any, BaseException | None]


class TimedOut(Exception):
    """A hook used up its own time and was stopped, or can no longer be waited for."""


class Host:
    """Hosts hooks of a sync call: whatever has to be waited for is waited for in the caller's thread."""

    def __init__(self, op: Record) -> None:
        self._op = op
        self._marker = InHook(op)

    @property
    def moves_async(self) -> bool:
        """Whether async hooks run in another thread than the call."""
        return True

    def cancelling(self) -> int:
        """How often the cancellation of the call's task has been asked for and not been taken back."""
        return 0

    async def blocking(
        self, view: Operation, limit_ns: int | None, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> Outcome:
        """Run plain code in a worker; returns what it returned and raised."""
        future = workers.submit(copy_context().run, _outcome, function, args)
        try:
            return await self._worker(future, limit_ns)
        except BaseException as error:
            view._locked = TIMED_OUT
            workers.abandon(future)
            if isinstance(error, TimeoutError):
                if not future.cancelled():
                    internal.counts["hook.hung"] += 1
                raise TimedOut from None
            raise

    async def _worker(self, future: Any, limit_ns: int | None) -> Outcome:
        return future.result(_seconds(limit_ns))

    async def settle(self, view: Operation, limit_ns: int | None, awaitable: Awaitable[Any]) -> Any:
        """Await what an async hook returned.

        Raises:
            TimedOut: It took longer than ``limit_ns``.
        """

        async def call(_remote: Remote) -> Any:
            return await awaitable

        def discard() -> None:
            if isinstance(awaitable, Coroutine):
                awaitable.close()

        remote = Remote(call, copy_context(), discard)
        self._wait(remote, view, limit_ns, starting=True)
        if remote.error is not None:
            raise remote.error
        return remote.result

    def _wait(self, remote: Remote, view: Operation, limit_ns: int | None, *, starting: bool = False) -> str:
        """Wait for a hook on the private loop; one that is not waited for any more is cancelled and sealed."""
        try:
            if starting:
                remote.start()
            return remote.wait(_seconds(limit_ns))
        except BaseException as error:
            remote.cancel()
            view._locked = TIMED_OUT
            if isinstance(error, TimeoutError):
                raise TimedOut from None
            raise

    async def wrap(
        self,
        view: Operation,
        limit_ns: int | None,
        function: Callable[..., Coroutine[Any, Any, Any]],
        proceed: Callable[[bool], Awaitable[None]],
    ) -> Any:
        """Run an async hook around the rest of the chain, which ``proceed`` runs."""

        async def call(remote: Remote) -> Any:
            async def call_next() -> Any:
                return await remote.call_next()

            return await function(view, _once(call_next))

        remote = Remote(call, copy_context())
        if self._wait(remote, view, limit_ns, starting=True) == NEXT:
            await proceed(False)
            remote.resume(None if view.error is not None else view.result, view.error)
            self._wait(remote, view, limit_ns)
        if remote.error is not None:
            raise remote.error
        return remote.result


class AsyncHost(Host):
    """Hosts hooks of an async call: async hooks run in the call's own task, on its own loop."""

    @property
    def moves_async(self) -> bool:
        return False

    def cancelling(self) -> int:
        task = asyncio.current_task()
        return task.cancelling() if task is not None else 0

    async def _worker(self, future: Any, limit_ns: int | None) -> Outcome:
        # Not `wait_for`: on Python 3.11 it loses a cancellation that comes as the future gets done.
        async with asyncio.timeout(_seconds(limit_ns)):
            return await asyncio.wrap_future(future)

    async def settle(self, view: Operation, limit_ns: int | None, awaitable: Awaitable[Any]) -> Any:  # noqa: ARG002
        if isinstance(awaitable, Coroutine):
            # Most hooks do not suspend; those need no timer.
            try:
                yielded = awaitable.send(None)
            except StopIteration as stop:
                return stop.value
            awaitable = rest(awaitable, yielded)
        if limit_ns is None:
            return await awaitable
        return await _within(asyncio.timeout(_seconds(limit_ns)), awaitable)

    async def wrap(
        self,
        view: Operation,
        limit_ns: int | None,
        function: Callable[..., Coroutine[Any, Any, Any]],
        proceed: Callable[[bool], Awaitable[None]],
    ) -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        timer = asyncio.timeout(_seconds(limit_ns))
        deadline = loop.time() + (_seconds(limit_ns) or 0.0)

        async def call_next() -> Any:
            if timer.expired():
                raise SealedError("the hook has timed out; it cannot call call_next() any more")
            left = deadline - loop.time()
            timer.reschedule(None)
            await proceed(asyncio.current_task() is not task)
            if limit_ns is not None:
                timer.reschedule(loop.time() + left)
            if view.error is not None:
                raise view.error
            return view.result

        return await _within(timer, function(view, _once(call_next)))


async def _within(timer: asyncio.Timeout, awaitable: Awaitable[Any]) -> Any:
    try:
        async with timer:
            result = await awaitable
    except TimeoutError:
        if timer.expired():
            raise TimedOut from None
        raise
    if timer.expired():  # it swallowed the cancellation; what it returned since comes too late
        raise TimedOut
    return result


def host_for(op: Record, *, is_async: bool) -> Host:
    """The host for hooks of ``op``: async calls outside of asyncio (Trio) are hosted as sync ones."""
    if is_async:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return Host(op)
        return AsyncHost(op)
    return Host(op)


def _once(call_next: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    used = False

    async def once() -> Any:
        nonlocal used
        if used:
            raise HookError("call_next() was called twice; what follows a hook runs once")
        used = True
        return await call_next()

    return once


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    try:
        return function(*args), None
    except BaseException as error:
        return None, error


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
