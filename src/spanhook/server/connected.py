"""Work that nobody waits for any more once its caller is gone."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from spanhook.errors import SpanhookError
from spanhook.server.problems import Problem

T = TypeVar("T")


class GoneError(SpanhookError):
    """The caller has closed the connection."""


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What some work gives; it is cancelled if the caller goes away, or the server ends. Its end is waited for.

    Args:
        request: Whose body was read.
        work: What is done for it.

    Raises:
        GoneError: The caller is gone.
        Problem: The server ends.
    """
    working, leaving = asyncio.create_task(work), asyncio.create_task(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        error: Exception = GoneError("the caller has closed the connection")
    except asyncio.CancelledError:
        error = Problem("unavailable", "the server has been told to end")
    leaving.cancel()
    if working.done():
        return working.result()
    working.cancel()
    await asyncio.wait((working,))
    raise error


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
