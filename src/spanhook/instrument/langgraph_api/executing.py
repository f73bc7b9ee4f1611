"""Executes a run as an operation: as long as its graph streams."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

from langgraph_api import config
from langgraph_api.errors import UserInterrupt
from langgraph_runtime.retry import RETRIABLE_EXCEPTIONS

from spanhook.instrument.langgraph_api.run import ADMISSIONS, RUN, stored
from spanhook.model import Args, Executing, Kwargs, Opening, first

_INTERRUPTED = "__interrupt__"


class _Outcome:
    """What a run has come to so far, by the parts of its stream.

    Attributes:
        values: The last values of its state.
        interrupted: Whether it waits for input.
    """

    def __init__(self) -> None:
        self.values: Any = None
        self.interrupted = False

    def add(self, part: Any) -> None:
        mode, payload = part
        if not isinstance(payload, Mapping):
            return
        told = cast("Mapping[str, Any]", payload)
        if told.get(_INTERRUPTED):
            self.interrupted = True
        if mode == "values":
            self.values = {name: value for name, value in told.items() if name != _INTERRUPTED} or self.values


async def stream(
    opening: Opening, wrapped: Callable[..., AsyncGenerator[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> AsyncGenerator[Any]:
    """In place of what streams the graph of a run, in whatever worker has taken it."""
    run = stored(first(args, kwargs, "run"))
    began = time.monotonic()
    execution = opening.runs.executing(RUN, run, await ADMISSIONS.find(run.run_id))
    await execution.enter()
    outcome = _Outcome()
    try:
        async with aclosing(wrapped(*args, **kwargs)) as parts:
            async for part in parts:
                outcome.add(part)
                yield part
    except BaseException as error:
        raised = await _failed(execution, error, began)
        if not _goes_on(error):
            await ADMISSIONS.drop(run.run_id)
        if raised is None:
            raise
        raise raised from None
    instead = execution.leave(outcome.values, left="interrupted" if outcome.interrupted else "")
    await execution.end()
    await ADMISSIONS.drop(run.run_id)
    if instead is not None:
        raise instead


async def _failed(execution: Executing, error: BaseException, began: float) -> BaseException | None:
    """End the operation of a run that has failed, was cancelled or is tried again; returns what is raised instead."""
    took_too_long = time.monotonic() - began >= config.BG_JOB_TIMEOUT_SECS
    if isinstance(error, asyncio.CancelledError) and took_too_long:
        execution.leave(error=TimeoutError("the run took too long"))
    elif _goes_on(error):
        await execution.hand_back()
        return None
    elif isinstance(error, UserInterrupt):  # whoever cancelled the run
        execution.leave(error=asyncio.CancelledError(str(error)))
    else:
        instead = execution.leave(error=error)
        await execution.end()
        return instead
    await execution.end()
    return None


def _goes_on(error: BaseException) -> bool:
    """Whether the server puts the run back into its queue."""
    return isinstance(error, (asyncio.CancelledError, *RETRIABLE_EXCEPTIONS))
