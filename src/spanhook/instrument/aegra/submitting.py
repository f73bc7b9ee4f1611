"""Decides about a run where it is submitted, and says so to whoever asked for it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from inspect import signature
from typing import Any

from aegra_api.services import run_executor, run_status

from spanhook.diagnostics import log
from spanhook.errors import Reject
from spanhook.instrument.aegra.admissions import admissions
from spanhook.instrument.aegra.recorded import assistant_of
from spanhook.instrument.aegra.run import RUN, run_of
from spanhook.instrument.aegra.threads import mark_refused
from spanhook.instrument.aegra.withholding import Withheld, withheld
from spanhook.model import Args, Kwargs, Opening, asheds, first

_scheduled: ContextVar[bool] = ContextVar("spanhook.aegra.scheduled", default=False)


@asheds
async def schedule(
    _opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of what begins a run of a cron that is due. If it raises, Aegra tries it again at each poll."""
    token = _scheduled.set(True)
    try:
        await wrapped(*args, **kwargs)
    finally:
        _scheduled.reset(token)


@asheds
async def submit(
    opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of an executor's method that is given each run, once it is prepared."""
    job = first(args, kwargs, "job")
    run_id = job.identity.run_id
    held = withheld(run_id)
    if held is None and not opening.runs.hooked:
        await wrapped(*args, **kwargs)
        return
    try:
        assistant = await assistant_of(run_id) if held is None else str(held.run.assistant_id or "")
        run = run_of(job, assistant, run_executor._build_run_config(job))
        admission = await opening.runs.ask(RUN, run, {"assistant_id": assistant})
    except BaseException as error:
        await _refused(job, held, error)
        if isinstance(error, Reject) and _scheduled.get():
            return  # nobody waits for an answer
        raise
    if admission is not None:
        await admissions().keep(admission)
    if held is not None:
        try:
            await held.record(job)
        except BaseException:
            await admissions().drop(run_id)
            raise
    await wrapped(*args, **kwargs)


async def _refused(job: Any, held: Withheld | None, error: BaseException) -> None:
    status = "interrupted" if isinstance(error, asyncio.CancelledError) else "error"
    reason = error.reason if isinstance(error, Reject) else str(error)
    try:
        if held is not None:
            await held.record_refusal(status, reason)
        else:
            await _finalize(job, status, reason)
    except Exception as failure:
        log.error("spanhook: cannot record that run %s was refused", job.identity.run_id, exc_info=failure)


async def _finalize(job: Any, status: str, error: str) -> None:
    """Record that a run has ended without having begun, which something else than Aegra has recorded and submitted."""
    identity = job.identity
    before = await mark_refused(identity.run_id, identity.thread_id)
    given: dict[str, Any] = {"status": status, "thread_status": before, "output": {}, "error": error}
    if "user_id" in signature(run_status.finalize_run).parameters:  # from 0.10 on
        given["user_id"] = job.user.identity
    await run_status.finalize_run(identity.run_id, identity.thread_id, **given)
