"""Where a hook's code runs and how it is waited for: the one difference between hooks on sync and on async calls.

On async calls an async hook runs in the call's own task; on sync calls, and on those of Trio, it runs on a loop of
spanhook's while the caller waits: its thread on sync calls, its task under Trio. Blocking hooks run in worker threads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from threading import get_ident
from time import monotonic
from typing import Any

from spanhook.concurrency import (
    NEXT,
    SLICE_S,
    AsyncioBell,
    Bell,
    Remote,
    TrioBell,
    Workers,
    bell_of_loop,
    is_cancellation,
    rest,
    running,
    shielded,
)
from spanhook.diagnostics import internal
from spanhook.errors import HookError, SealedError, TimedOut
from spanhook.gating._overdue import Outcome, refusal_elsewhere, refusal_in_thread, within
from spanhook.model import TIMED_OUT, Operation

workers = Workers("spanhook-hook")
START_S = 1.0
"""How long a blocking hook may wait for a worker, if its own time is not longer."""
_SHORTEST_S = 0.001


class Host:
    """Hosts hooks of a sync call: whatever has to be waited for is waited for in the caller's thread."""

    moves_async = True
    """Whether async hooks run in another thread than the call."""
    translates = False
    """Whether calls are cancelled otherwise than the hooks, which always are asyncio's."""

    def cancelling(self) -> int:
        """How often the cancellation of the call's task has been asked for and not been taken back."""
        return 0

    def bell(self, *, of_loop: bool = False) -> Bell:
        """What the caller waits with, for a worker or a loop of ours."""
        return bell_of_loop() if of_loop else Bell()

    async def blocking(
        self, view: Operation, limit_ns: int | None, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> Outcome:
        """Run plain code in a worker; returns what it returned and raised."""
        begun: list[tuple[float, int]] = []

        def run() -> Outcome:
            begun.append((monotonic(), get_ident()))
            return _outcome(function, args)

        future = workers.submit(copy_context().run, run)
        try:
            return await self._worker(view, future, begun, _seconds(limit_ns))
        except BaseException as error:
            view._locked = TIMED_OUT
            workers.abandon(future)
            if isinstance(error, TimeoutError):
                if not future.cancelled():
                    internal.counts["hook.hung"] += 1
                refusal = refusal_in_thread(future, begun[0][1] if begun else None, view)
                raise TimedOut() if refusal is None else refusal from None
            raise

    async def _worker(
        self,
        view: Operation,  # noqa: ARG002
        future: "Future[Outcome]",
        begun: list[tuple[float, int]],
        seconds: float | None,
    ) -> Outcome:
        """Wait for a worker. Its time runs from where it begins; until then it has a second at least."""
        limit, asked, bell = float("inf") if seconds is None else seconds, monotonic(), self.bell()
        future.add_done_callback(lambda _future: bell.ring())
        since, own = asked, limit
        # In slices, and not by `Future.result` or `wait_for`: on Python 3.11 that loses a cancellation which comes as
        # the future gets done.
        while not await bell.heard(min(max(since + own - monotonic(), _SHORTEST_S), SLICE_S)):
            since, own = (begun[0][0], limit) if begun else (asked, max(limit, START_S))
            if monotonic() - since >= own:
                raise TimeoutError
        return future.result()

    async def settle(self, view: Operation, limit_ns: int | None, awaitable: Awaitable[Any]) -> Any:
        """Await what an async hook returned.

        Raises:
            TimedOut: It took longer than ``limit_ns``.
        """
        remote = Remote(awaitable, copy_context(), self.bell(of_loop=True), awaitable)
        await self._wait(remote, view, limit_ns, starting=True)
        if remote.error is not None:
            raise remote.error
        return remote.result

    async def _wait(self, remote: Remote, view: Operation, limit_ns: int | None, *, starting: bool = False) -> str:
        """Wait for a hook on a loop of ours; one that is not waited for any more is cancelled and sealed."""
        try:
            if starting:
                remote.start()
            return await remote.wait(_seconds(limit_ns))
        except Exception as error:
            view._locked = TIMED_OUT
            refusal = await refusal_elsewhere(remote, view)
            if refusal is None and not isinstance(error, TimeoutError):
                raise
            raise TimedOut() if refusal is None else refusal from None
        except BaseException:
            remote.cancel()
            view._locked = TIMED_OUT
            raise

    async def wrap(
        self,
        view: Operation,
        limit_ns: int | None,
        function: Callable[..., Coroutine[Any, Any, Any]],
        proceed: Callable[[bool], Awaitable[None]],
    ) -> Any:
        """Run an async hook around the rest of the chain, which ``proceed`` runs."""

        async def call() -> Any:
            return await function(view, _once(remote.call_next))

        remote = Remote(call(), copy_context(), self.bell(of_loop=True), function)
        if await self._wait(remote, view, limit_ns, starting=True) == NEXT:
            await proceed(False)
            failure = told = view.error
            if failure is not None and self.translates and is_cancellation(failure):
                told = asyncio.CancelledError()
            # What nobody waits for any more is ended elsewhere than it began.
            host = self if self is SYNC else host_for(is_async=True)
            remote.resume(None if failure is not None else view.result, told, host.bell(of_loop=True))
            await host._wait(remote, view, limit_ns)
            if failure is not None and remote.error is told:
                raise failure
        if remote.error is not None:
            raise remote.error
        return remote.result


class TrioHost(Host):
    """Hosts hooks of a call that Trio runs: they are hosted as on sync calls, but the caller's task waits for them.

    Trio cancels again wherever something is awaited. Hooks that are to see how a cancelled call ends are shielded.
    """

    translates = True

    def bell(self, *, of_loop: bool = False) -> Bell:  # noqa: ARG002
        return TrioBell()

    async def _worker(
        self, view: Operation, future: "Future[Outcome]", begun: list[tuple[float, int]], seconds: float | None
    ) -> Outcome:
        with self._scope(view):
            return await super()._worker(view, future, begun, seconds)

    async def _wait(self, remote: Remote, view: Operation, limit_ns: int | None, *, starting: bool = False) -> str:
        with self._scope(view):
            return await super()._wait(remote, view, limit_ns, starting=starting)

    @staticmethod
    def _scope(view: Operation) -> AbstractContextManager[Any]:
        return shielded() if is_cancellation(view._record.error) else nullcontext()


class AsyncHost(Host):
    """Hosts hooks of a call that asyncio runs: async hooks run in the call's own task, on its own loop."""

    moves_async = False

    def bell(self, *, of_loop: bool = False) -> Bell:  # noqa: ARG002
        return AsyncioBell()

    def cancelling(self) -> int:
        task = asyncio.current_task()
        return task.cancelling() if task is not None else 0

    async def settle(self, view: Operation, limit_ns: int | None, awaitable: Any) -> Any:  # noqa: ARG002
        begun = awaitable
        if isinstance(awaitable, Coroutine):
            # Most hooks do not suspend; those need no timer.
            try:
                yielded = begun.send(None)
            except StopIteration as stop:
                return stop.value
            awaitable = rest(begun, yielded)
        if limit_ns is None:
            return await awaitable
        return await within(asyncio.timeout(_seconds(limit_ns)), awaitable)

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

        return await within(timer, function(view, _once(call_next)))


SYNC = Host()
asynchronous = AsyncHost()
"""For what asyncio runs, on whichever loop."""
_BY_LIBRARY: dict[str, Host] = {"asyncio": asynchronous, "trio": TrioHost(), "": SYNC}


def host_for(*, is_async: bool) -> Host:
    """The host for hooks of a call; async calls that nobody runs whom we know are hosted as sync ones."""
    return _BY_LIBRARY[running()] if is_async else SYNC


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
