"""``/v1/jobs``: background runs of agents, what happens in them, and cancelling them."""

import json
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Response
from sse_starlette import EventSourceResponse

from spanhook.jobs import Job, JobFilter, JobStatus, TransitionError
from spanhook.server.cursors import cursor_of, position
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, ON_CHANGES, Problem, documented
from spanhook.server.routes.job_models import JobPage, JobView
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("jobs:read"))]
Caller = Annotated[Principal, Depends(Needs("jobs:run"))]
Id = Annotated[str, Path(min_length=1, max_length=100)]
_FOUND = documented(*ALWAYS, "not_found")
_CHANGED = documented(*ALWAYS, *ON_CHANGES, "not_found", "conflict")


@router.get("", responses=documented(*ALWAYS))
async def list_jobs(
    principal: Reader,
    services: Serving,
    status: JobStatus | None = None,
    agent: Annotated[str, Query(max_length=100)] = "",
    cursor: Annotated[str, Query(max_length=500, description="next_cursor of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> JobPage:
    """List jobs, the newest first."""
    before = position(cursor) if cursor else None
    which = JobFilter(_tenant(principal), status, agent, before)
    found = await services.runner.store.list(which, limit + 1)
    shown = found[:limit]
    after = cursor_of(shown[-1].created_ns, shown[-1].job_id) if len(found) > limit else ""
    return JobPage(jobs=[JobView.of(one) for one in shown], next_cursor=after)


@router.get("/{job_id}", responses=_FOUND)
async def get_job(job_id: Id, principal: Reader, services: Serving) -> JobView:
    """One job."""
    return JobView.of(await _found(job_id, principal, services))


@router.get(
    "/{job_id}/stream",
    responses={204: {"description": "The job has ended, and Last-Event-ID is its last event."}, **_FOUND},
)
async def stream_job(
    job_id: Id,
    principal: Reader,
    services: Serving,
    last: Annotated[str, Header(alias="Last-Event-ID", max_length=20)] = "",
) -> Response:
    """The events of a job, from the one after Last-Event-ID on, as server-sent events; the last one is done."""
    await _found(job_id, principal, services)
    after = int(last) if last.isascii() and last.isdecimal() and len(last) < 19 else 0
    if await services.runner.exhausted(job_id, after):
        return Response(status_code=204)  # an EventSource asks no more
    return EventSourceResponse(_events(services, job_id, after), ping=15)


@router.post("/{job_id}/cancel", responses=_CHANGED)
async def cancel_job(job_id: Id, principal: Caller, services: Serving) -> JobView:
    """Cancel a job: its work is stopped."""
    try:
        cancelled = await services.runner.cancel(job_id, _tenant(principal))
    except TransitionError as error:
        raise Problem("conflict", str(error)) from None
    if cancelled is None:
        raise _nothing(job_id)
    return JobView.of(cancelled)


@router.delete("/{job_id}", status_code=204, responses=_CHANGED)
async def delete_job(job_id: Id, principal: Caller, services: Serving) -> None:
    """Delete a finished job, and its events."""
    try:
        deleted = await services.runner.delete(job_id, _tenant(principal))
    except TransitionError as error:
        raise Problem("conflict", str(error)) from None
    if not deleted:
        raise _nothing(job_id)


async def _found(job_id: str, principal: Principal, services: Services) -> Job:
    found = await services.runner.store.get(job_id, _tenant(principal))
    if found is None:
        raise _nothing(job_id)
    return found


async def _events(services: Services, job_id: str, after: int) -> AsyncGenerator[dict[str, Any]]:
    async for one in services.runner.events(job_id, after):
        yield {"id": str(one.id), "event": one.type, "data": json.dumps(dict(one.data))}


def _nothing(job_id: str) -> Problem:
    return Problem("not_found", f"there is no job {job_id!r} here")


def _tenant(principal: Principal) -> str | None:
    return None if principal.operator else principal.tenant
