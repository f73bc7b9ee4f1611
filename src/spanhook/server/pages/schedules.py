"""The page of schedules: when agents run by the clock, and what became of the last ticks."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.rendering import render
from spanhook.server.routes.schedules import list_schedules
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/schedules", include_in_schema=False)


@router.get("")
async def page(
    request: Request,
    principal: Annotated[Principal, Depends(Needs("jobs:read"))],
    services: Annotated[Services, Depends(services_of)],
) -> Response:
    """All schedules of the caller's tenant."""
    found = await list_schedules(principal, services)
    return render(request.scope, "schedules.html", schedules=found.schedules, live="/events/schedules")
