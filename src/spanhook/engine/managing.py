"""Functions that return a context manager: the operation begins as it is entered."""

import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from spanhook.engine.calls import acall, call
from spanhook.model import Adapter, Args, Kwargs, shed


@contextmanager
def managed(
    adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
) -> Generator[Any, None, None]:
    """Call a function that returns a context manager as an operation, whose result is what entering gives.

    Leaving is the manager's own business: a result that holds a stream ends the operation as it is closed.
    """
    entered: list[Any] = []

    def enter(*given: Any, **named: Any) -> Any:
        manager = wrapped(*given, **named)
        result = manager.__enter__()
        entered.append(manager)
        return result

    try:
        result = call(adapter, enter, instance, args, kwargs)
    except BaseException as error:
        shed(error)
        raise
    try:
        yield result
    except BaseException:
        if not entered or not entered[0].__exit__(*sys.exc_info()):
            raise
    else:
        if entered:
            entered[0].__exit__(None, None, None)


@asynccontextmanager
async def amanaged(
    adapter: Adapter, wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs
) -> AsyncGenerator[Any, None]:
    """``managed`` for async context managers."""
    entered: list[Any] = []

    async def enter(*given: Any, **named: Any) -> Any:
        manager = wrapped(*given, **named)
        result = await manager.__aenter__()
        entered.append(manager)
        return result

    try:
        result = await acall(adapter, enter, instance, args, kwargs)
    except BaseException as error:
        shed(error)
        raise
    try:
        yield result
    except BaseException:
        if not entered or not await entered[0].__aexit__(*sys.exc_info()):
            raise
    else:
        if entered:
            await entered[0].__aexit__(None, None, None)
