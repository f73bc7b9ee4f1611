"""The page of decisions."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.parameters import Cursor, Filter, time_in
from spanhook.server.pages.rendering import address, render
from spanhook.server.routes.runs import list_decisions
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/decisions", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("runs:read"))]
DECISIONS = ("reject", "modify", "replace", "pause", "error", "timeout", "skipped", "attempted")


@router.get("")
async def page(
    request: Request,
    principal: Reader,
    services: Serving,
    hook: Filter = "",
    decision: Filter = "",
    mode: Literal["", "enforce", "shadow"] = "",
    event: Filter = "",
    run: Filter = "",
    agent: Filter = "",
    user: Filter = "",
    since: Filter = "",
    until: Filter = "",
    cursor: Cursor = "",
) -> Response:
    """Decisions, the latest first."""
    found = await list_decisions(
        principal,
        services,
        hook=hook,
        decision=decision,
        mode=mode or None,
        event=event,
        run=run,
        agent=agent,
        user=user,
        since=time_in(since, "since"),
        until=time_in(until, "until"),
        cursor=cursor,
    )
    given: dict[str, str] = {"hook": hook, "decision": decision, "event": event, "run": run, "agent": agent}
    given |= {"user": user, "mode": mode, "since": since, "until": until}
    return render(
        request.scope,
        "decisions.html",
        decisions=found.decisions,
        more=address(request, cursor=found.next_cursor) if found.next_cursor else "",
        first=address(request, cursor="") if cursor else "",
        given=given,
        filtered=any(given.values()),
        known=DECISIONS,
        live="" if cursor else "/events/runs",
    )
