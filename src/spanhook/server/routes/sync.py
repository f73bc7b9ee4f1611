"""``/v1/sync``: what processes of agents enforce, and what they report. ``/v1/processes``: those processes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.responses import Response

from spanhook.server.needs import Needs
from spanhook.server.problems import ALWAYS, ON_CHANGES, documented
from spanhook.server.routes.hooks import Cursor, Limit, Reader, Serving
from spanhook.server.routes.sync_models import Process, ProcessPage, Report, Reported, SetSent
from spanhook.server.scopes import Principal

router = APIRouter(prefix="/v1", tags=["processes"])

Follower = Annotated[Principal, Depends(Needs("hooks:sync"))]
Known = Annotated[str | None, Header(alias="If-None-Match", max_length=1000, description="ETag of the known set.")]


@router.get(
    "/sync",
    response_model=SetSent,
    responses={**documented(*ALWAYS), 304: {"description": "The known set is in force."}},
)
async def current_set(principal: Follower, services: Serving, known: Known = None) -> Response:
    """The set for the caller's processes: enabled definitions, policies and settings, secrets included."""
    sent = await services.sets.of(principal)
    headers = {"ETag": sent.etag}
    if known is not None and sent.etag in {one.strip().removeprefix("W/") for one in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(sent.content, media_type="application/json", headers=headers)


@router.post("/sync/reports", responses=documented(*ALWAYS, *ON_CHANGES))
async def take_report(given: Report, principal: Follower, services: Serving) -> Reported:
    """Report what is in force in a process, what is missing, which hooks its own code has, and what all hooks did."""
    await services.processes.note(principal, given.process_id, given.columns(), given.counts(), given.entries())
    return Reported(set_version=(await services.sets.of(principal)).version)


@router.get("/processes", responses=documented(*ALWAYS))
async def list_processes(
    principal: Reader, services: Serving, cursor: Cursor = None, limit: Limit = 100
) -> ProcessPage:
    """List the processes that were heard of within a day."""
    found, more = await services.processes.page(principal, cursor=cursor, limit=limit)
    return ProcessPage(processes=[Process.of(row) for row in found], next_cursor=more)
