"""Decides about a run where it is submitted, and says so to whoever asked for it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from spanhook.diagnostics import log
from spanhook.errors import Reject
from spanhook.instrument.aegra.admissions import admissions
from spanhook.instrument.aegra.recorded import assistant_of, finalize
from spanhook.instrument.aegra.run import RUN, run_of
from spanhook.model import Args, Kwargs, Opening, first

_RETRY_AFTER = "Retry-After"


async def submit(
    opening: Opening, wrapped: Callable[..., Awaitable[None]], _instance: Any, args: Args, kwargs: Kwargs
) -> None:
    """In place of an executor's method that is given each run, once it is recorded as pending."""
    job = first(args, kwargs, "job")
    try:
        assistant = await assistant_of(job.identity.run_id)
        admission = await opening.runs.ask(RUN, run_of(job, assistant), {"assistant_id": assistant})
    except BaseException as error:
        await _refused(job, error)
        raise
    if admission is not None:
        await admissions().keep(admission)
    await wrapped(*args, **kwargs)


async def _refused(job: Any, error: BaseException) -> None:
    status = "interrupted" if isinstance(error, asyncio.CancelledError) else "error"
    reason = error.reason if isinstance(error, Reject) else str(error)
    try:
        await finalize(job, status, reason)
    except Exception as failure:
        log.error("spanhook: cannot record that run %s was refused", job.identity.run_id, exc_info=failure)


def answered(_instance: Any, args: Args, kwargs: Kwargs, response: Any) -> None:
    """After Aegra has made a response of an exception, of whose headers it knows nothing."""
    error = first(args, kwargs, "exc") if "exc" in kwargs or len(args) < 2 else args[1]
    headers = getattr(error, "headers", None) or {}
    if isinstance(error, Reject) and _RETRY_AFTER in headers:
        response.headers[_RETRY_AFTER] = headers[_RETRY_AFTER]
