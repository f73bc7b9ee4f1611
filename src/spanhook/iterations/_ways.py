"""How hooks wait for a memory and for handlers: not at all in sync code, aside in async code."""

from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

from spanhook.concurrency import AsyncioBell, Bell, TrioBell, Workers, block_on, under_trio

T = TypeVar("T")

LOOK_S = 60.0
"""A bell is listened to for so long at a time."""

_workers = Workers("spanhook-frames", limit=4)


class Way(Protocol):
    """How what takes time is waited for.

    Attributes:
        is_async: Whether it is awaited.
    """

    is_async: bool

    async def made(self, call: Callable[[], T], blocking: bool, /) -> T:
        """What ``call`` returns, which may wait for a disk if it is ``blocking``."""
        ...

    async def told(self, came: Awaitable[Any]) -> None:
        """Wait for what an async handler has given."""
        ...


class InPlace:
    """In sync code: the caller waits. Nothing is ever awaited."""

    is_async = False

    async def made(self, call: Callable[[], T], _blocking: bool, /) -> T:
        return call()

    async def told(self, came: Awaitable[Any]) -> None:
        block_on(came)


class Aside:
    """In async code: the caller's event loop goes on, asyncio's or Trio's."""

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
