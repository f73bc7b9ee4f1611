"""Waiting for what happens in another thread: with the caller's own blocked, or awaited under Trio and asyncio."""

import asyncio
import sys
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from spanhook.concurrency.async_library import under_trio


class Bell:
    """Rung in any thread, heard by one that waits for it and does nothing else."""

    def __init__(self) -> None:
        # Not a queue: those of CPython 3.11 to 3.13 may wait for ever if the time is over before they begin to wait.
        self._rung = threading.Lock()
        self._rung.acquire()

    def ring(self) -> None:
        with suppress(RuntimeError):  # it has been rung already
            self._rung.release()

    async def heard(self, seconds: float) -> bool:
        """Wait until it is rung; whether that was so in time. Nothing is awaited where the thread may be blocked."""
        return self._rung.acquire(timeout=max(0.0, seconds))


class TrioBell(Bell):
    """One that a task of Trio's waits for, while others go on."""

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
    """One that a task of asyncio's waits for."""

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
    """A scope in which a task that was cancelled may still await something, for ``seconds`` at most.

    Trio and AnyIO cancel every ``await`` of such a task anew. asyncio cancels one, so nothing is needed there.
    """
    library = sys.modules.get("trio") if under_trio() else sys.modules.get("anyio")
    scope: Any = getattr(library, "move_on_after", None)
    return nullcontext() if scope is None else scope(seconds, shield=True)


def shielded() -> AbstractContextManager[Any]:
    """A scope of Trio's in which what is awaited goes on although the task has been cancelled."""
    trio: Any = sys.modules["trio"]
    return trio.CancelScope(shield=True)
