"""The event loops on which async hooks of sync calls, and of calls under Trio, run.

One loop serves all hooks until one of them blocks, stops or closes it; the next hooks then run on another.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from spanhook.concurrency.event_loops import begun, new_event_loop
from spanhook.concurrency.threads import NONE_AT_EXIT, DaemonExecutor, OwnThread, reaper
from spanhook.diagnostics import Repeats, internal, log
from spanhook.errors import HookError
from spanhook.fork import after_fork

MAX_LOOPS = 8
BLOCK_S = 0.01
"""A task step longer than this counts as time lost to others."""
STALL_S = 0.2
"""After this many seconds in one step, a loop counts as hung until the step ends."""


class Owner(Protocol):
    """The owner of tasks on a loop.

    Attributes:
        blocked: Seconds in which its tasks blocked others.
    """

    blocked: float

    @property
    def name(self) -> str:
        """Its name in messages."""
        ...


Stepping = tuple[Owner | None, float]
"""A task step in progress: whose it is, and since when."""


owner: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("spanhook.owner", default=None)
"""The owner of the current task and of tasks that it starts."""

_repeats = Repeats()


class LoopThread(OwnThread):
    """The thread of one of spanhook's loops; it must never wait for any of them."""


class OwnLoop:
    """One event loop in a daemon thread.

    Attributes:
        blocked: Seconds in which a task blocked others.
        stepping: The step in progress.
        over: Its thread has ended.
        hung: Nothing may start here until the step in progress has ended.
    """

    def __init__(self) -> None:
        self.blocked = 0.0
        self.stepping: Stepping | None = None
        self.hung = self.over = False
        self.loop = new_event_loop()
        self.loop.set_default_executor(DaemonExecutor())
        self.loop.set_task_factory(self._task)  # pyright: ignore[reportArgumentType]
        self._thread = LoopThread(self._run, "spanhook-loop")
        try:
            self._thread.start()
        except RuntimeError:
            self.loop.close()
            raise

    def _run(self) -> None:
        try:
            self._run_on()
        finally:
            self.over = True

    def _run_on(self) -> None:
        asyncio.set_event_loop(self.loop)
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()  # returns if a hook calls `loop.stop()`
            except Exception as error:
                log.error("spanhook: an event loop for async hooks failed; spanhook uses another one", exc_info=error)
                with suppress(Exception):
                    self.loop.close()
                return
            except BaseException as error:
                # `SystemExit` and `KeyboardInterrupt` leave the loop whichever task raises them. The hook's own reaches
                # its waiting caller; those of tasks that a hook left behind reach nobody.
                log.debug("spanhook: a task of an async hook raised %s", type(error).__name__)

    def _task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **kwargs: Any
    ) -> "asyncio.Task[Any]":
        context: contextvars.Context | None = kwargs.get("context")
        whose = owner.get() if context is None else context.get(owner)
        return asyncio.Task(_Timed(coroutine, self, whose), loop=loop, **kwargs)

    def begun(self, coroutine: Coroutine[Any, Any, Any], whose: Owner) -> "asyncio.Task[Any]":
        """A task that has taken its first step, if possible, in a copy of the current context; called on the loop."""
        return begun(_Timed(coroutine, self, whose), self.loop)

    def call(self, function: Callable[..., None], *args: Any, context: contextvars.Context | None = None) -> None:
        """Call ``function`` on the loop; does nothing if the loop is closed."""
        try:  # noqa: SIM105 - `suppress` costs more, for every hook
            self.loop.call_soon_threadsafe(function, *args, context=context)
        except RuntimeError:
            pass

    @property
    def thread(self) -> int:
        """The number of its thread."""
        return self._thread.ident or 0

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and not self.loop.is_closed()

    @property
    def free(self) -> bool:
        """Whether a coroutine may start here."""
        # A loop that a fork left without a thread is never asked.
        lives = not (self.hung or self.over or self.loop.is_closed())
        return lives and (self.stepping is None or not self.stuck(monotonic()))

    def stuck(self, now: float) -> bool:
        """Whether a step has taken so long that others should not wait for it; the loop then counts as hung."""
        stepping = self.stepping
        if stepping is None or now - stepping[1] < STALL_S:
            return False
        self.give_up("a task" if stepping[0] is None else f"async hook {stepping[0].name!r}")
        return True

    def give_up(self, whose: str) -> None:
        """Start nothing more here until the loop responds again."""
        if self.hung:
            return
        self.hung = True
        internal.counts["loop.hung"] += 1
        self.call(self._back)
        if _repeats.due(whose) is not None:
            log.warning(
                "spanhook: %s blocks the event loop of async hooks on sync calls; await slow work there, "
                "or make it a plain function with blocking=True",
                whose,
            )

    def _back(self) -> None:
        self.hung = False

    def lost(self, now: float, mine: Owner) -> float:
        """Seconds for which owners other than ``mine`` have blocked this loop so far, including the step in
        progress.
        """
        lost, stepping = self.blocked - mine.blocked, self.stepping
        if stepping is not None and stepping[0] is not mine and now - stepping[1] > BLOCK_S:
            lost += now - stepping[1]
        return lost


class _Timed(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are timed."""

    __slots__ = ("_coroutine", "_home", "_owner")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], home: OwnLoop, whose: Owner | None) -> None:
        self._coroutine, self._home, self._owner = coroutine, home, whose

    def send(self, value: Any, /) -> Any:
        home, since = self._home, monotonic()
        home.stepping = (self._owner, since)
        try:
            return self._coroutine.send(value)
        finally:
            home.stepping = None
            if monotonic() - since > BLOCK_S:
                self._blocked(monotonic() - since)

    def throw(self, *error: Any) -> Any:
        since = monotonic()
        self._home.stepping = (self._owner, since)
        try:
            return self._coroutine.throw(*error)
        finally:
            self._home.stepping = None
            self._blocked(monotonic() - since)

    def _blocked(self, took: float) -> None:
        """Others had to wait for a step of so many seconds."""
        if took > BLOCK_S:
            self._home.blocked += took
            if self._owner is not None:
                self._owner.blocked += took

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        if name == "_coroutine":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._coroutine, name)  # asyncio's debug output shows its code and frame


class PrivateLoops:
    """The existing loops: one, plus one for each that is blocked, up to ``MAX_LOOPS``; a forked child has its own."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._loops: tuple[OwnLoop, ...] = ()

    def get(self) -> OwnLoop:
        """The first free loop, started if necessary; if none is free and no more are allowed, the last one.

        Raises:
            RuntimeError: There is none, and the interpreter is exiting and cannot start threads.
        """
        for one in self._loops:
            if one.free:
                return one
        with self._lock:
            kept = tuple(one for one in self._loops if one.alive)
            for one in kept:
                if one.free:
                    return one
            if len(kept) < MAX_LOOPS:
                try:
                    kept += (OwnLoop(),)
                except RuntimeError:
                    if not kept:
                        raise
            self._loops = kept
            return kept[-1]

    def here(self) -> bool:
        """Whether the caller runs on one of the loops' threads."""
        return isinstance(threading.current_thread(), LoopThread)


private_loops = PrivateLoops()


def block_on(awaitable: Awaitable[Any], home: OwnLoop | None = None) -> OwnLoop:
    """Run an awaitable from sync code on one of our loops, and wait for it.

    Args:
        awaitable: What to run, in a copy of the caller's context.
        home: The loop to run it on, if it is still alive.

    Returns:
        The loop it ran on.

    Raises:
        HookError: Called on such a loop's own thread, where waiting would be a deadlock.
        BaseException: Whatever ``awaitable`` raises.
    """
    if private_loops.here():
        getattr(awaitable, "close", int)()
        raise HookError("async code cannot be waited for by sync code in an async hook; await it there")
    if home is None or not home.alive:
        home = private_loops.get()
    running = contextvars.copy_context().run(asyncio.run_coroutine_threadsafe, _awaited(awaitable), home.loop)
    try:
        running.result()
    except BaseException:
        running.cancel()
        raise
    return home


async def _awaited(awaitable: Awaitable[Any]) -> None:
    await awaitable


def ready_for_exit() -> None:
    """Start early what hooks may need in the last ``atexit`` handler, if it cannot be started there."""
    if NONE_AT_EXIT:
        reaper.start()
        private_loops.get().call(_start_worker)


def _start_worker() -> None:
    asyncio.get_running_loop().run_in_executor(None, int)


after_fork("loops", private_loops.renew)
