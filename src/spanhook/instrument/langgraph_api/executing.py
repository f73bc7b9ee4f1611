"""Executes a run as an operation: as long as its graph streams."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

from langgraph_api import config
from langgraph_api.errors import UserInterrupt

from spanhook.instrument.langgraph_api.run import ADMISSIONS, RUN, stored
from spanhook.model import Args, Executing, Kwargs, Opening, first, shed

try:
    from langgraph_api.worker_runtime import ALL_RETRIABLE_EXCEPTIONS
except ImportError:  # earlier versions
    from langgraph_api.worker import ALL_RETRIABLE_EXCEPTIONS

_INTERRUPTED = "__interrupt__"
_EARLIER_S = 1.0
"""How much earlier than we the server may have begun to time a run, at most, or a tenth of its limit."""


class _Outcome:
    """What a run has come to so far, by the parts of its stream.

    Attributes:
        interrupted: Whether it waits for input.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._last: Mapping[str, Any] = {}

    def add(self, part: Any) -> None:
        mode, payload = part
        if not isinstance(payload, Mapping):
            return
        told = cast("Mapping[str, Any]", payload)
        if told.get(_INTERRUPTED):
            self.interrupted = True
        if mode == "values" and (len(told) > 1 or _INTERRUPTED not in told):
            self._last = told

    @property
    def values(self) -> dict[str, Any] | None:
        """The last values of its state; ``None`` if there were none."""
        return {name: value for name, value in self._last.items() if name != _INTERRUPTED} or None


async def stream(
    opening: Opening, wrapped: Callable[..., AsyncGenerator[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> AsyncGenerator[Any]:
    """In place of what streams the graph of a run, in whatever worker has taken it."""
    run = stored(first(args, kwargs, "run"))
    began, task = time.monotonic(), asyncio.current_task()
    execution = opening.runs.executing(RUN, run, await ADMISSIONS.find(run.run_id))
    await execution.enter()
    outcome = _Outcome()
    try:
        async with aclosing(wrapped(*args, **kwargs)) as parts:
            async for part in parts:
                outcome.add(part)
                yield part
    except BaseException as error:
        stopped = _stopped(error, task, began)
        instead = await _failed(execution, stopped)
        if not _goes_on(stopped):
            await ADMISSIONS.drop(run.run_id)
        if instead is None or stopped is not error:
            shed(error)
            raise
        raise instead from None
    instead = execution.leave(outcome.values, left="interrupted" if outcome.interrupted else "")
    await execution.end()
    await ADMISSIONS.drop(run.run_id)
    if instead is not None:
        raise instead


async def _failed(execution: Executing, error: BaseException) -> BaseException | None:
    """End the operation of a run that has failed, was cancelled or is tried again; returns what is raised instead."""
    if _goes_on(error):
        await execution.hand_back()
        return None
    cancelled = isinstance(error, UserInterrupt)  # by a client
    instead = execution.leave(error=asyncio.CancelledError(str(error)) if cancelled else error)
    await execution.end()
    return None if cancelled else instead


def _goes_on(error: BaseException) -> bool:
    """Whether the server puts the run back into its queue."""
    return isinstance(error, ALL_RETRIABLE_EXCEPTIONS)


def _stopped(error: BaseException, task: "asyncio.Task[Any] | None", began: float) -> BaseException:
    """What has stopped a run, if its stream was cancelled or closed.

    The server cancels what has run for too long, and everything when it stops. If it is publishing a part just then,
    the stream is dropped instead, and closed in another task.
    """
    dropped = isinstance(error, GeneratorExit)
    if not dropped and not isinstance(error, asyncio.CancelledError):
        return error
    limit = config.BG_JOB_TIMEOUT_SECS
    if time.monotonic() - began >= limit - min(_EARLIER_S, limit / 10):
        return TimeoutError("the run took too long")
    if dropped and task is not None and (task.cancelling() or task.cancelled()):
        return asyncio.CancelledError()
    return error
