"""The event loop on which async hooks run when the call they belong to is a sync one."""

import asyncio
import contextvars
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from time import monotonic
from typing import Any, Generic, TypeVar

from spanhook.errors import HookError
from spanhook.threads import NONE_AT_EXIT, DaemonExecutor, reaper

T = TypeVar("T")

NEXT, DONE = "next", "done"
_SLICE = 0.25
"""Seconds."""

_CROSS_LOOP = ("different loop", "different event loop", "Event loop is closed")


class PrivateLoop:
    """One event loop in a daemon thread, started when first needed and again in every forked child."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        """The running loop."""
        loop = self._loop
        if loop is None:
            with self._lock:
                if self._loop is None:
                    self._start()
                loop = self._loop
        assert loop is not None
        return loop

    def _start(self) -> None:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(DaemonExecutor())
        self._thread = threading.Thread(target=self._run, args=(loop,), name="spanhook-loop", daemon=True)
        self._thread.start()
        self._loop = loop
        if NONE_AT_EXIT:
            loop.call_soon_threadsafe(loop.run_in_executor, None, int)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    def here(self) -> bool:
        """Whether the caller is the loop's own thread, which must never wait for it."""
        return self._thread is threading.current_thread()


private_loop = PrivateLoop()


def ready_for_exit() -> None:
    """Start what hooks may need in the last ``atexit`` handler, where it cannot be started then."""
    if NONE_AT_EXIT:
        reaper.start()
        private_loop.get()


os.register_at_fork(after_in_child=private_loop.renew)


class Remote:
    """A coroutine on the private loop, seen from the thread that waits for it.

    The coroutine may hand control back in the middle with ``call_next`` and is gone on with by ``resume``; so the call
    that a hook wraps stays in the caller's thread and context.

    Args:
        make: Makes the coroutine.
        context: What it runs in.
        discard: Called if it is cancelled, to close what it may not have begun to await.

    Raises:
        HookError: Made on the private loop's own thread, where waiting would be a deadlock.
    """

    def __init__(
        self,
        make: Callable[["Remote"], Coroutine[Any, Any, Any]],
        context: contextvars.Context,
        discard: Callable[[], None] = lambda: None,
    ) -> None:
        self._discard = discard
        if private_loop.here():
            discard()
            raise HookError("an async hook cannot run for a sync call made on spanhook's own event loop")
        self._loop = private_loop.get()
        # Not a queue: those of CPython 3.11 to 3.13 may wait for ever if the time is over before they begin to wait.
        self._news = threading.Lock()
        self._news.acquire()
        self._message = NEXT
        self._task: asyncio.Task[Any] | None = None
        self._paused: asyncio.Future[Any] | None = None
        self._cancelled = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._make, self._context = make, context

    def start(self) -> None:
        """Set the coroutine going. Whatever interrupts the caller from here on must ``cancel`` it."""
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._cancelled:
            self._discard()
            return
        self._task = self._loop.create_task(self._make(self), context=self._context)
        self._task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():
            self._discard()  # it may have been cancelled before its first step
            self.error = asyncio.CancelledError()
        else:
            self.error = task.exception()
            self.result = None if self.error is not None else task.result()
        self._say(DONE)

    def wait(self, seconds: float | None) -> str:
        """Wait until the coroutine is ``DONE`` or wants the ``NEXT`` one to run.

        Raises:
            TimeoutError: Neither came in time.
        """
        left = float("inf") if seconds is None else seconds
        until = monotonic() + left
        # In slices: a signal that comes just before the wait begins would be seen only at its end.
        while not self._news.acquire(timeout=max(0.0, min(left, _SLICE))):
            left = until - monotonic()
            if left <= 0:
                raise TimeoutError
        return self._message

    def _say(self, message: str) -> None:
        """Wake the waiting thread; only the loop's thread says anything."""
        self._message = message
        if self._news.locked():
            self._news.release()

    async def call_next(self) -> Any:
        """Let the waiting thread go on; returns or raises what ``resume`` is given."""
        self._paused = self._loop.create_future()
        self._say(NEXT)
        return await self._paused

    def resume(self, result: Any, error: BaseException | None) -> None:
        """Give the outcome of what ``call_next`` asked for."""
        self._loop.call_soon_threadsafe(self._resume, result, error)

    def _resume(self, result: Any, error: BaseException | None) -> None:
        paused = self._paused
        if paused is None or paused.done():
            return
        if error is None:
            paused.set_result(result)
        elif isinstance(error, StopIteration):  # a Future refuses it; PEP 479 turns it into this anyway
            wrapped = RuntimeError("generator raised StopIteration")
            wrapped.__cause__ = error
            paused.set_exception(wrapped)
        else:
            paused.set_exception(error)

    def cancel(self) -> None:
        """Cancel the coroutine without waiting for it."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()


class PerLoop(Generic[T]):
    """What ``per_loop`` returns: call it inside a hook to get this event loop's own resource."""

    def __init__(self, factory: Callable[[], T]) -> None:
        self._factory = factory
        self._made: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, T] = weakref.WeakKeyDictionary()

    def __call__(self) -> T:
        """The resource of the running loop, made when first asked for.

        Raises:
            RuntimeError: There is no running event loop.
        """
        loop = asyncio.get_running_loop()
        try:
            return self._made[loop]
        except KeyError:
            made = self._made[loop] = self._factory()
            return made


def per_loop(factory: Callable[[], T]) -> PerLoop[T]:
    """Keep one resource per event loop.

    Write ``clients = spanhook.per_loop(httpx.AsyncClient)`` beside your hooks, and ``clients()`` inside them.

    An async hook runs on the application's loop for async calls and on spanhook's own loop for sync ones; clients and
    pools are bound to the loop that first used them, so one shared between the two would fail.

    Args:
        factory: Makes the resource; called once per loop, on that loop.
    """
    return PerLoop(factory)


def cross_loop_hint(error: BaseException) -> str:
    """A sentence naming the fix if ``error`` looks like a resource used on another loop than its own, else empty."""
    if isinstance(error, RuntimeError) and any(sign in str(error) for sign in _CROSS_LOOP):
        return (
            "; async hooks run on the call's own loop for async calls and on spanhook's loop for sync ones: "
            "make the client with spanhook.per_loop(factory)"
        )
    return ""
