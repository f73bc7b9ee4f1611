"""Which async library runs the code that asks, if any, and what a cancellation is: for asyncio and Trio.

Trio is never imported here. Where it runs, it is there, and so is ``sniffio``, which it tells.
"""

import asyncio
import sys
from typing import Any, Literal, cast


def running() -> Literal["asyncio", "trio", ""]:
    """The library that runs the calling code; empty outside of any."""
    if under_trio():
        return "trio"
    return "" if asyncio._get_running_loop() is None else "asyncio"


def under_trio() -> bool:
    """Whether Trio runs the calling code: in guest mode a loop of asyncio's runs in the same thread."""
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
    """The loop of asyncio's that runs the calling code, if one does."""
    return None if under_trio() else asyncio._get_running_loop()


def cancellations() -> tuple[type[BaseException], ...]:
    """The classes of exception by which code is cancelled."""
    trio = sys.modules.get("trio")
    cancelled = getattr(trio, "Cancelled", None)  # it may be being imported
    return (asyncio.CancelledError,) if cancelled is None else (asyncio.CancelledError, cancelled)


def is_cancellation(error: BaseException | None) -> bool:
    """Whether code that ``error`` left was cancelled; of a group, whether all of it was."""
    if error is None or isinstance(error, Exception):
        return False
    kinds = cancellations()
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return group.split(kinds)[1] is None
    return isinstance(error, kinds)


def is_being_cancelled() -> bool:
    """Whether the cancellation of asyncio's current task has been asked for; what raises otherwise did it itself."""
    if asyncio._get_running_loop() is None:
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
