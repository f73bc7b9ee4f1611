"""A coroutine on one of spanhook's loops, seen from the thread or Trio task that waits for it."""

import asyncio
import contextvars
from collections.abc import Awaitable, Coroutine
from time import monotonic
from typing import Any

from spanhook.concurrency.handling import handled_by, handled_in
from spanhook.concurrency.loops import STALL_S, OwnLoop, owner, private_loops
from spanhook.concurrency.waiting import Bell
from spanhook.errors import HookError

NEXT, DONE = "next", "done"

SLICE_S = 0.25
"""Waiting is done in slices: a signal that arrives just before a slice is only seen at the end of it."""
_SHORTEST_S = 0.001
PATIENCE_S = 10.0
"""How long to wait for a hook, beyond its own time, while others block its loop."""
SILENCE_S = 1.0
"""How long to wait for a loop to begin a hook, whatever delays it."""
LAST_S = 0.25
"""How long to wait for the end of a hook that was cancelled."""


class Remote:
    """A coroutine on one of spanhook's loops. Its time counts from its first step, except while others block the loop.

    The coroutine may hand control back midway with ``call_next`` and continues after ``resume``; so the call that a
    hook wraps stays in the caller's thread and context.

    Args:
        awaitable: What it awaits; closed if it never begins.
        context: The context it runs in.
        bell: How the caller waits.
        named: What it is named by in messages.

    Raises:
        HookError: Created on the thread of such a loop, where waiting would deadlock.
    """

    # Defaults, since many hooks end without any of these.
    blocked = 0.0
    _home: OwnLoop | None = None
    _task: asyncio.Task[Any] | None = None
    _paused: asyncio.Future[Any] | None = None
    _since: float | None = None
    _lost = _spent = 0.0
    _asks = _over = _waits = False
    result: Any = None
    error: BaseException | None = None

    def __init__(self, awaitable: Awaitable[Any], context: contextvars.Context, bell: Bell, named: Any) -> None:
        self._awaitable, self._bell, self._named = awaitable, bell, named
        self._context: contextvars.Context | None = context
        self._ticket: list[OwnLoop] = []
        if private_loops.here():
            self._discard()
            raise HookError("an async hook cannot run for a sync call made on spanhook's own event loop")

    @property
    def name(self) -> str:
        """Its name in messages."""
        return getattr(self._named, "__qualname__", type(self._named).__qualname__)

    def _discard(self) -> None:
        awaited: Any = self._awaitable
        if isinstance(awaited, Coroutine):
            awaited.close()

    # ------------------------------------------------------------------------------------ the caller's side

    def start(self) -> None:
        """Start the coroutine. If the caller is interrupted from here on, it must call ``cancel``."""
        assert self._context is not None
        self._post(private_loops.get(), self._context)

    def _post(self, home: OwnLoop, context: contextvars.Context) -> None:
        # Whoever takes the ticket wins: the loop begins the coroutine, or the caller moves it elsewhere.
        self._home, self._ticket, self._posted = home, [home], monotonic()
        home.call(self._begin, self._ticket, context=context)

    async def wait(self, seconds: float | None) -> str:
        """Wait until the coroutine is ``DONE`` or asks for the ``NEXT`` one to run.

        Raises:
            TimeoutError: Neither happened in time.
            HookError: Neither can happen any more.
        """
        limit = float("inf") if seconds is None else seconds
        asked = now = monotonic()
        self._waits = True  # before it looks, since whoever is not waited for does not ring
        while True:
            if self._over:
                self._bell.put_back()
                return DONE
            if self._asks:
                self._asks = False
                return NEXT
            left, slice_s = limit - self._own(now), STALL_S if self._since is None else SLICE_S
            if await self._bell.heard(min(max(left, _SHORTEST_S), slice_s)):
                continue
            now = monotonic()
            if not self._task and self._ticket:
                self._elsewhere(now, now - asked)
            elif self._own(now) >= limit or now - asked >= limit + PATIENCE_S:
                self._stuck(now)
                raise TimeoutError
            elif self._home is not None and not self._home.alive:
                raise HookError("another hook has closed the event loop that this one ran on")

    def _own(self, now: float) -> float:
        """Seconds that the coroutine has used up."""
        if self._since is None or self._home is None:
            return self._spent
        return self._spent + now - self._since - (self._home.lost(now, self) - self._lost)

    def _elsewhere(self, now: float, waited: float) -> None:
        """If it has not begun because its loop is blocked, move it to another loop."""
        home = self._home
        if home is None:
            return
        if home.free:
            if now - self._posted < SILENCE_S:
                return
            home.give_up("a callback")
        another = private_loops.get()
        if another is home or not another.free:
            if waited >= PATIENCE_S:
                raise HookError("every event loop for async hooks is blocked by hooks that do not await")
        elif self._take_ticket(self._ticket):
            assert self._context is not None
            self._post(another, self._context.copy())  # the other loop may still enter that one

    def _stuck(self, now: float) -> None:
        if self._home is not None:
            self._home.stuck(now)

    def resume(self, result: Any, error: BaseException | None, bell: Bell) -> None:
        """Give the outcome that ``call_next`` waits for. A different caller may wait from here on."""
        self._bell.put_back()
        self._bell = bell
        if self._home is not None:
            self._home.call(self._resume, result, error)

    def cancel(self) -> bool:
        """Cancel the coroutine without waiting for it; returns whether it has begun."""
        if self._home is None or self._take_ticket(self._ticket):
            self._discard()
            return False
        self._home.call(self._cancel)
        return True

    def handled(self) -> BaseException | None:
        """The exception that its code handles now, innermost."""
        home, task = self._home, self._task
        if home is None:
            return None
        active, stepping = handled_in(home.thread), home.stepping
        if stepping is not None and stepping[0] is self:
            return active
        return None if task is None else handled_by(task.get_coro())

    async def last_words(self) -> BaseException | None:
        """What it raised after it was cancelled; ``None`` if it does not end soon, or raised nothing."""
        home = self._home
        if home is None or home.hung or not home.alive:
            return None
        ends = monotonic() + LAST_S
        while not self._over:
            if not await self._bell.heard(ends - monotonic()):
                return None
        return self.error

    @staticmethod
    def _take_ticket(ticket: list[OwnLoop]) -> bool:
        try:
            ticket.pop()
        except IndexError:
            return False
        return True

    # ------------------------------------------------------------------------------------ the loop's side

    def _begin(self, ticket: list[OwnLoop]) -> None:
        if not self._take_ticket(ticket):
            return
        home = self._home
        assert home is not None
        owner.set(self)
        self._goes_on()
        task = home.begun(self._run(), self)
        if task.done():
            self._finished(task)
        else:
            self._task = task
            task.add_done_callback(self._finished)

    def _goes_on(self) -> None:
        """Start counting its time."""
        now = monotonic()
        assert self._home is not None
        self._lost = self._home.lost(now, self)
        self._since = now

    async def _run(self) -> None:
        try:
            self.result = await self._awaitable
        except BaseException as error:  # everything goes to the caller, not to the loop
            self.error = error

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():  # cancelled before its first step
            self._discard()
            self.error = asyncio.CancelledError()
        # Both refer back to this object, the context by `owner`, and would keep it until the next collection.
        self._task = self._context = None
        self._over = True
        if self._waits:
            self._bell.ring()

    async def call_next(self) -> Any:
        """Let the waiting caller continue; return or raise what ``resume`` is given."""
        self._paused = asyncio.get_running_loop().create_future()
        self._spent, self._since = self._own(monotonic()), None
        self._asks = True
        if self._waits:
            self._bell.ring()
        return await self._paused

    def _resume(self, result: Any, error: BaseException | None) -> None:
        paused = self._paused
        if paused is None or paused.done():
            return
        self._goes_on()
        if error is None:
            paused.set_result(result)
        elif isinstance(error, StopIteration):  # a Future refuses it; PEP 479 would convert it to this anyway
            wrapped = RuntimeError("generator raised StopIteration")
            wrapped.__cause__ = error
            paused.set_exception(wrapped)
        else:
            paused.set_exception(error)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
