"""Waiting for files and servers without holding up an event loop."""

import asyncio
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from spanhook.concurrency import Workers

P = ParamSpec("P")
T = TypeVar("T")

_workers = Workers("spanhook-store", 16)


def may_wait() -> bool:
    """Whether code in this thread may wait: no event loop runs in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        return trio is None or not trio.lowlevel.in_trio_run()
    return False


async def in_worker(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in a thread that may wait."""
    return await asyncio.wrap_future(_workers.submit(function, *args, **kwargs))
