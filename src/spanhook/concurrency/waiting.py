"""Waiting for an event in another thread: by blocking the caller's thread, or by awaiting under Trio and asyncio."""

import asyncio
import sys
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from spanhook.concurrency.async_library import under_trio


class Bell:
    """Rung by any thread; the waiting thread is blocked meanwhile."""

    def __init__(self) -> None:
        # Not a queue: in CPython 3.11 to 3.13, a queue may wait forever if its timeout expires before it begins to
        # wait.
        self._rung = threading.Lock()
        self._rung.acquire()

    def ring(self) -> None:
        with suppress(RuntimeError):  # already rung
            self._rung.release()

    async def heard(self, seconds: float) -> bool:
        """Wait until it is rung; returns whether that happened in time. Awaits nothing if the thread may be blocked."""
        return self._rung.acquire(timeout=max(0.0, seconds))


class TrioBell(Bell):
    """A bell that a Trio task waits for, while other tasks run."""

    def __init__(self) -> None:
        self._trio: Any = sys.modules["trio"]
        self._token = self._trio.lowlevel.current_trio_token()
        self._event = self._trio.Event()

    def ring(self) -> None:
        with suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(self._ring)

    def _ring(self) -> None:
        self._event.set()

    async def heard(self, seconds: float) -> bool:
        with self._trio.move_on_after(max(0.0, seconds)):
            await self._event.wait()
        if not self._event.is_set():
            return False
        self._event = self._trio.Event()
        return True


class AsyncioBell(Bell):
    """A bell that an asyncio task waits for, while other tasks run."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def ring(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._event.set)

    async def heard(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, seconds)):
                await self._event.wait()
        rung = self._event.is_set()
        self._event.clear()
        return rung


def shielded_for(seconds: float) -> AbstractContextManager[Any]:
    """A scope in which a cancelled task can still await something, for at most ``seconds``.

    Trio and AnyIO cancel every further ``await`` of such a task. asyncio cancels only one, so there it does nothing.
    """
    library = sys.modules.get("trio") if under_trio() else sys.modules.get("anyio")
    scope: Any = getattr(library, "move_on_after", None)
    return nullcontext() if scope is None else scope(seconds, shield=True)


def shielded() -> AbstractContextManager[Any]:
    """A Trio scope in which awaits complete although the task has been cancelled."""
    trio: Any = sys.modules["trio"]
    return trio.CancelScope(shield=True)
