"""Waiting for an event in another thread: by blocking the caller's thread, or by awaiting under Trio and asyncio."""

import asyncio
import os
import select
import sys
import threading
from collections import deque
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any

from spanhook.concurrency.async_library import under_trio
from spanhook.concurrency.descriptors import Descriptor, has_descriptors
from spanhook.concurrency.threads import Dropped
from spanhook.fork import after_fork

MAX_DESCRIPTORS = 32
"""How many threads wait by descriptors at once: the application may need the files that the process may have."""

_left = deque(range(MAX_DESCRIPTORS))
_idle: "deque[DescriptorBell]" = deque()


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

    def put_back(self) -> None:
        """Nobody waits for it any more."""


class DescriptorBell(Bell):
    """A bell that costs less, for one waiting thread after another.

    Somebody may still ring it for an earlier one, so whoever hears it must look whether it is what it waits for.

    Raises:
        IndexError: There are enough.
        OSError: The process may have no more files.
    """

    def __init__(self) -> None:
        self._counted, self._idle = Dropped(partial(_left.append, _left.pop())), _idle
        self._descriptor = Descriptor()
        polled = select.poll()
        polled.register(self._descriptor, select.POLLIN)
        self._poll = polled.poll

    def ring(self) -> None:
        os.eventfd_write(self._descriptor.number, 1)

    async def heard(self, seconds: float) -> bool:
        if not self._poll(max(0.0, seconds * 1000.0)):
            return False
        with suppress(BlockingIOError):  # a forked child has heard it
            os.eventfd_read(self._descriptor.number)
        return True

    def put_back(self) -> None:
        self._idle.append(self)


def bell_of_loop() -> Bell:
    """What a thread waits with, as cheaply as it can, for an event loop that has little left to do once it rings."""
    try:
        return _idle.pop()
    except IndexError:
        pass
    if has_descriptors():
        with suppress(IndexError, OSError):
            return DescriptorBell()
    return Bell()


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


def _renew() -> None:
    global _idle
    _idle = deque()  # those so far are the parent's, too


after_fork("bells", _renew)
