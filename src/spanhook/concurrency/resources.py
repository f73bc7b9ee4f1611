"""Clients and pools that belong to one event loop: one per loop, and a hint for the error if that was forgotten."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from spanhook.identity import ByIdentity

T = TypeVar("T")

_CROSS_LOOP = ("different loop", "different event loop", "Event loop is closed")


class PerLoop(Generic[T]):
    """What ``per_loop`` returns: call it inside a hook to get this event loop's own resource."""

    def __init__(self, factory: Callable[[], T]) -> None:
        self._factory = factory
        self._made = ByIdentity[asyncio.AbstractEventLoop, T]()

    def __call__(self) -> T:
        """The running loop's resource, created on first use.

        Raises:
            RuntimeError: There is no running event loop.
        """
        loop = asyncio.get_running_loop()
        if loop in self._made:
            return cast("T", self._made.get(loop))
        self._forget()
        made = self._made[loop] = self._factory()
        return made

    def _forget(self) -> None:
        """Let go of the resources of loops that are closed: most refer to their loop, and so keep it."""
        for loop in self._made:
            if loop.is_closed():
                self._made.pop(loop)


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
    """A hint at the fix if ``error`` looks like a resource used on the wrong event loop, else empty."""
    if isinstance(error, RuntimeError) and any(sign in str(error) for sign in _CROSS_LOOP):
        return (
            "; async hooks run on the call's own loop for async calls and on spanhook's loop for sync ones: "
            "make the client with spanhook.per_loop(factory)"
        )
    return ""
