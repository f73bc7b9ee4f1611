"""Finishing what must not be left half done: when its task is cancelled, or while a store cannot be used. And turns."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from spanhook.concurrency import ended
from spanhook.errors import StoreError

T = TypeVar("T")
_FIRST_S, _LONGEST_S = 0.05, 1.0


async def uninterrupted(work: Coroutine[Any, Any, T]) -> T:
    """Do something to its end, even if the task that waits for it is cancelled; that is raised afterwards.

    A transaction that is cancelled would cost its connection, and hold an SQLite file for seconds.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await ended(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # it counts as seen
        raise cancelled
    return task.result()


async def patiently(do: Callable[[], Awaitable[T]], seconds: Callable[[], float]) -> T:
    """Try something again as long as the store cannot be used.

    Args:
        do: Called each time.
        seconds: Gives for how long it is tried again; asked each time.

    Raises:
        StoreError: The store could not be used for that long.
    """
    began, pause = time.monotonic(), _FIRST_S
    while True:
        try:
            return await do()
        except StoreError:
            if time.monotonic() + pause > began + seconds():
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_S)


class Turns:
    """Lets one task at a time do something with a key."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: Hashable) -> AsyncGenerator[None]:
        """Wait for the turn, and have it for the block."""
        lock, count = self._held.get(key) or (asyncio.Lock(), 0)
        self._held[key] = lock, count + 1
        try:
            async with lock:
                yield
        finally:
            lock, count = self._held.pop(key)
            if count > 1:
                self._held[key] = lock, count - 1
