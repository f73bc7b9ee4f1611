"""Which async library runs the calling code, if any, and what a cancellation is, for asyncio and Trio.

Trio is never imported here. Where it runs, it has been imported already, and so has ``sniffio``, which it notifies.
"""

import asyncio
import sys
from typing import Any, Literal, cast


def running() -> Literal["asyncio", "trio", ""]:
    """The library that runs the calling code; empty if there is none."""
    if under_trio():
        return "trio"
    return "" if asyncio._get_running_loop() is None else "asyncio"


def under_trio() -> bool:
    """Whether Trio runs the calling code: in guest mode, an asyncio loop runs in the same thread."""
    if "trio" not in sys.modules:
        return False
    sniffio: Any = sys.modules.get("sniffio")
    if sniffio is None:
        return False
    try:
        return sniffio.current_async_library() == "trio"
    except sniffio.AsyncLibraryNotFoundError:
        return False


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The asyncio loop that runs the calling code, if any."""
    return None if under_trio() else asyncio._get_running_loop()


def cancellations() -> tuple[type[BaseException], ...]:
    """The exception classes that cancel code."""
    trio = sys.modules.get("trio")
    cancelled = getattr(trio, "Cancelled", None)  # its import may be in progress
    return (asyncio.CancelledError,) if cancelled is None else (asyncio.CancelledError, cancelled)


def is_cancellation(error: BaseException | None) -> bool:
    """Whether ``error`` is a cancellation; for a group, whether all of it is."""
    if error is None or isinstance(error, Exception):
        return False
    kinds = cancellations()
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return group.split(kinds)[1] is None
    return isinstance(error, kinds)


def is_being_cancelled() -> bool:
    """Whether cancellation of the current asyncio task was requested; if not, code raised ``CancelledError`` by
    itself.
    """
    if asyncio._get_running_loop() is None:
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
