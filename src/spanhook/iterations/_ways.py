"""How hooks call the memory and handlers: directly in sync code, without blocking the event loop in async code."""

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from spanhook.concurrency import AsyncioBell, Bell, TrioBell, Workers, block_on, under_trio

T = TypeVar("T")

LOOK_S = 60.0
"""The longest single wait for a bell, after which the next one begins."""

_workers = Workers("spanhook-frames", limit=4)


class Way(Protocol):
    """How slow calls are made.

    Attributes:
        is_async: Whether calls are awaited.
    """

    is_async: bool

    async def made(self, call: Callable[[], T], blocking: bool, /) -> T:
        """The result of ``call``, which may wait for a disk if it is ``blocking``."""
        ...

    async def told(self, came: Awaitable[Any]) -> None:
        """Wait for an async handler."""
        ...


class InPlace:
    """For sync code: the caller waits, and nothing is awaited."""

    is_async = False

    async def made(self, call: Callable[[], T], _blocking: bool, /) -> T:
        return call()

    async def told(self, came: Awaitable[Any]) -> None:
        block_on(came)


class Aside:
    """For async code: the event loop is not blocked. Works under asyncio and Trio."""

    is_async = True

    async def made(self, call: Callable[[], T], blocking: bool, /) -> T:
        if not blocking:
            return call()
        bell: Bell = TrioBell() if under_trio() else AsyncioBell()
        future = _workers.submit(copy_context().run, call)
        future.add_done_callback(lambda _done: bell.ring())
        while not await bell.heard(LOOK_S):
            pass
        return future.result()

    async def told(self, came: Awaitable[Any]) -> None:
        await came


IN_PLACE, ASIDE = InPlace(), Aside()
