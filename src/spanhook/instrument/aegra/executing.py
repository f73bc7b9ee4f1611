"""Executes a run as an operation: from where its graph is run, wherever that is, to where its end is recorded."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

from aegra_api.services import run_executor

from spanhook.errors import Reject
from spanhook.instrument.aegra.admissions import admissions
from spanhook.instrument.aegra.recorded import assistant_of
from spanhook.instrument.aegra.run import RUN, run_of
from spanhook.instrument.aegra.threads import mark_refused
from spanhook.model import Args, Executing, Kwargs, Opening, asheds, first

_ELSEWHERE = ("_lease_loss_cancellations", "_shutdown_cancellations")
"""Where Aegra notes that a run was stopped here because it goes on elsewhere."""


class _Running:
    """A run that this task executes.

    Attributes:
        job, run_id: Aegra's description of it, and its id.
        execution: Its operation.
        asked: Whether an admission was looked for.
        refused: Why it may not begin, if so.
        failed: Whether something was raised.
    """

    def __init__(self, job: Any, execution: Executing, *, asked: bool) -> None:
        self.job, self.run_id, self.execution, self.asked = job, job.identity.run_id, execution, asked
        self.refused = ""
        self.failed = False


_running: ContextVar[_Running | None] = ContextVar("spanhook.aegra", default=None)


@asheds
async def execute(
    opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of what runs a graph for a job, in whatever process has taken it."""
    job = first(args, kwargs, "job")
    run_id = job.identity.run_id
    admission, assistant, asked = None, "", opening.runs.hooked
    if asked:
        admission = await admissions().find(run_id)
        assistant = admission.known.get("assistant_id", "") if admission is not None else ""
        assistant = assistant or await assistant_of(run_id)
    served = run_of(job, assistant, run_executor._build_run_config(job))
    run = _Running(job, opening.runs.executing(RUN, served, admission), asked=asked)
    _running.set(run)
    try:
        await run.execution.enter()
    except Reject as reject:
        run.refused, run.failed = reject.reason, True
        raise
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        run.failed = True
        if isinstance(error, asyncio.CancelledError) and _goes_on(run_id):
            _running.set(None)
            await run.execution.hand_back()
            raise
        instead = run.execution.leave(error=_meant(run_id, error))
        if instead is None or isinstance(instead, TimeoutError):
            raise
        raise instead from None
    instead = run.execution.leave(result.data, left="interrupted" if result.has_interrupt else "")
    if instead is not None:
        run.failed = True
        raise instead
    return result


def _goes_on(run_id: str) -> bool:
    return any(run_id in getattr(run_executor, name, ()) for name in _ELSEWHERE)


def _meant(run_id: str, error: BaseException) -> BaseException:
    """The error, or the timeout for which Aegra cancels a run."""
    if isinstance(error, asyncio.CancelledError) and run_id in getattr(run_executor, "_timeout_cancellations", ()):
        return TimeoutError(getattr(run_executor, "_TIMEOUT_ERROR", "the run took too long"))
    return error


@asheds
async def finalize(
    _opening: Opening, wrapped: Callable[..., Awaitable[Any]], _instance: Any, args: Args, kwargs: Kwargs
) -> Any:
    """In place of what records how a run has ended."""
    run = _running.get()
    if run is None or run.run_id != first(args, kwargs, "run_id"):
        return await wrapped(*args, **kwargs)
    _running.set(None)
    if run.refused:
        before = await mark_refused(run.run_id, run.job.identity.thread_id)
        kwargs = {**kwargs, "thread_status": before, "error": run.refused}
    try:
        recorded = await wrapped(*args, **kwargs)
    except BaseException as error:
        await run.execution.end(error)
        raise
    if run.asked:
        await admissions().drop(run.run_id)
    # Others have recorded another end if it says that it has not: the run was cancelled meanwhile.
    await run.execution.end(asyncio.CancelledError() if recorded is False and not run.failed else None)
    return recorded
