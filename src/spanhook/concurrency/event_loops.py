"""Event loops that other threads wake cheaply, and tasks that take their first step at once."""

import asyncio
import os
import select
import selectors
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from spanhook.concurrency.descriptors import Descriptor, has_descriptors


class EventLoop(asyncio.SelectorEventLoop):
    """asyncio's loop, but other threads wake it by a descriptor instead of a pair of sockets.

    The descriptor is never read: epoll is asked for its edges, so each write is an event of its own.

    Args:
        waking: The descriptor.
    """

    def __init__(self, waking: Descriptor) -> None:
        # The name that asyncio gives to what `signal.set_wakeup_fd` writes to, which refuses on threads like ours.
        self._csock: Descriptor | None = waking
        super().__init__(selectors.EpollSelector())

    def _make_self_pipe(self) -> None:
        epoll: Any = vars(self)["_selector"]._selector
        epoll.register(self._csock, select.EPOLLIN | select.EPOLLET)

    def _close_self_pipe(self) -> None:
        self._csock = None

    def _write_to_self(self) -> None:
        waking = self._csock
        if waking is not None:
            os.eventfd_write(waking.number, 1)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop as the application's policy makes it; if that is asyncio's own, one that is cheaper to wake."""
    made = asyncio.new_event_loop()
    if type(made) is asyncio.SelectorEventLoop and has_descriptors():
        with suppress(OSError):
            cheaper = EventLoop(Descriptor())
            made.close()
            return cheaper
    return made


def begun(coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> "asyncio.Task[Any]":
    """A task in a copy of the current context that has taken its first step, where that is possible.

    Args:
        coroutine: What it runs.
        loop: The loop that runs the caller, outside of any task.
    """
    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=loop, eager_start=True)
    if not isinstance(loop, EventLoop):
        return asyncio.Task(coroutine, loop=loop)
    scheduled: list[tuple[tuple[Any, ...], Any]] = []

    def hold(*given: Any, context: Any = None) -> None:
        scheduled.append((given, context))

    loop.call_soon = hold  # pyright: ignore[reportAttributeAccessIssue]
    try:
        task = asyncio.Task(coroutine, loop=loop)
    finally:
        del loop.call_soon
    for (step, *args), context in scheduled:
        if getattr(step, "__self__", None) is task:
            context.run(step)
        else:  # a finalizer came in between
            loop.call_soon(step, *args, context=context)
    return task
