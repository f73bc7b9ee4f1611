"""A coroutine on one of spanhook's loops, seen from the thread or Trio task that waits for it."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
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
        make: Makes the coroutine.
        context: The context it runs in.
        bell: How the caller waits.
        name: Its name in messages.
        discard: Called if it never begins, to close what it would await.

    Raises:
        HookError: Created on the thread of such a loop, where waiting would deadlock.
    """

    def __init__(
        self,
        make: Callable[["Remote"], Coroutine[Any, Any, Any]],
        context: contextvars.Context,
        bell: Bell,
        name: str,
        discard: Callable[[], None] = lambda: None,
    ) -> None:
        self._make, self._bell, self._discard = make, bell, discard
        self._context: contextvars.Context | None = context
        self.name = name
        self.blocked = 0.0
        if private_loops.here():
            discard()
            raise HookError("an async hook cannot run for a sync call made on spanhook's own event loop")
        self._home: OwnLoop | None = None
        self._ticket: list[OwnLoop] = []
        self._message = NEXT
        self._task: asyncio.Task[Any] | None = None
        self._paused: asyncio.Future[Any] | None = None
        self._since: float | None = None
        self._lost = self._spent = self._posted = 0.0
        self.result: Any = None
        self.error: BaseException | None = None

    # ------------------------------------------------------------------------------------ the caller's side

    def start(self) -> None:
        """Start the coroutine. If the caller is interrupted from here on, it must call ``cancel``."""
        self._post(private_loops.get())

    def _post(self, home: OwnLoop) -> None:
        # Whoever takes the ticket wins: the loop begins the coroutine, or the caller moves it elsewhere.
        self._home, self._ticket, self._posted = home, [home], monotonic()
        home.call(self._begin, self._ticket)

    async def wait(self, seconds: float | None) -> str:
        """Wait until the coroutine is ``DONE`` or asks for the ``NEXT`` one to run.

        Raises:
            TimeoutError: Neither happened in time.
            HookError: Neither can happen any more.
        """
        limit = float("inf") if seconds is None else seconds
        asked = now = monotonic()
        while True:
            left, slice_s = limit - self._own(now), STALL_S if self._since is None else SLICE_S
            if await self._bell.heard(min(max(left, _SHORTEST_S), slice_s)):
                return self._message
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
            self._post(another)

    def _stuck(self, now: float) -> None:
        if self._home is not None:
            self._home.stuck(now)

    def resume(self, result: Any, error: BaseException | None, bell: Bell) -> None:
        """Give the outcome that ``call_next`` waits for. A different caller may wait from here on."""
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
        if home is None or task is None:
            return None
        active, stepping = handled_in(home.thread), home.stepping
        if stepping is not None and stepping.owner is self:
            return active
        return handled_by(task.get_coro())

    async def last_words(self) -> BaseException | None:
        """What it raised after it was cancelled; ``None`` if it does not end soon, or raised nothing."""
        home = self._home
        if home is None or home.hung or not home.alive:
            return None
        ends = monotonic() + LAST_S
        while self._message is not DONE:
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
        context = self._context
        assert context is not None
        context.run(owner.set, self)
        self._goes_on()
        self._task = asyncio.get_running_loop().create_task(self._run(), context=context)
        self._task.add_done_callback(self._finished)

    def _goes_on(self) -> None:
        """Start counting its time."""
        now = monotonic()
        assert self._home is not None
        self._lost = self._home.lost(now, self)
        self._since = now

    async def _run(self) -> None:
        try:
            self.result = await self._make(self)
        except BaseException as error:  # everything goes to the caller, not to the loop
            self.error = error

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        if task.cancelled():  # cancelled before its first step
            self._discard()
            self.error = asyncio.CancelledError()
        # Both refer back to this object, the context by `owner`, and would keep it until the next collection.
        self._task = self._context = None
        self._say(DONE)

    def _say(self, message: str) -> None:
        self._message = message
        self._bell.ring()

    async def call_next(self) -> Any:
        """Let the waiting caller continue; return or raise what ``resume`` is given."""
        self._paused = asyncio.get_running_loop().create_future()
        self._spent, self._since = self._own(monotonic()), None
        self._say(NEXT)
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
