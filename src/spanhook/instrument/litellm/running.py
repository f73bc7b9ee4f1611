"""Coroutines that LiteLLM runs for sync calls in another thread, without the context of the call."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from spanhook.model import Args, Kwargs, first, with_first


def same_context(_instance: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """``run_async_function`` was called with a coroutine function, which runs in the caller's context."""
    function = first(args, kwargs, "async_function")
    return with_first(args, kwargs, "async_function", partial(_within, copy_context(), function))


async def _within(context: Context, function: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
    async def run() -> Any:
        return await function(*args, **kwargs)

    return await asyncio.get_running_loop().create_task(run(), context=context)
