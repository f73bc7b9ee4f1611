"""The pages of runs: those that a filter lets through, and one as a waterfall."""

from collections import defaultdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.parameters import Cursor, Filter, time_in
from spanhook.server.pages.rendering import address, render
from spanhook.server.pages.waterfall import waterfall
from spanhook.server.routes.hook_models import Hook
from spanhook.server.routes.hooks import list_hooks
from spanhook.server.routes.recorded import kind_of
from spanhook.server.routes.runs import get_run, list_decisions, list_runs
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/runs", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("runs:read"))]
STATUSES = ("running", "success", "error", "rejected", "interrupted", "cancelled", "abandoned")
_MOST_DECISIONS, _MOST_HOOKS = 500, 200


@router.get("")
async def page(
    request: Request,
    principal: Reader,
    services: Serving,
    search: Filter = "",
    status: Filter = "",
    agent: Filter = "",
    tenant: Filter = "",
    user: Filter = "",
    session: Filter = "",
    model: Filter = "",
    hook: Filter = "",
    since: Filter = "",
    until: Filter = "",
    cursor: Cursor = "",
) -> Response:
    """Runs, the latest first."""
    found = await list_runs(
        principal,
        services,
        status=status,
        agent=agent,
        tenant=tenant,
        user=user,
        session=session,
        model=model,
        hook=hook,
        search=search,
        since=time_in(since, "since"),
        until=time_in(until, "until"),
        cursor=cursor,
    )
    given = {"search": search, "status": status, "agent": agent, "tenant": tenant, "user": user}
    given |= {"session": session, "model": model, "hook": hook, "since": since, "until": until}
    more = address(request, cursor=found.next_cursor) if found.next_cursor else ""
    first = address(request, cursor="") if cursor else ""
    filtered = any(given.values())
    return render(
        request.scope,
        "runs.html",
        runs=found.runs,
        more=more,
        first=first,
        given=given,
        filtered=filtered,
        statuses=STATUSES,
        live="" if cursor else "/events/runs",
    )


@router.get("/{run_id}")
async def run(
    request: Request,
    run_id: Annotated[str, Path(min_length=1, max_length=200)],
    principal: Reader,
    services: Serving,
) -> Response:
    """One run."""
    found = await get_run(run_id, principal, services)
    decisions = await list_decisions(principal, services, run=run_id, limit=_MOST_DECISIONS)
    rows = waterfall(found, decisions.decisions)
    tried = await _hooks_by_kind(principal, services, found.run.tenant_id) if principal.may("hooks:manage") else {}
    return render(
        request.scope,
        "run.html",
        run=found.run,
        rows=rows,
        tried=tried,
        decisions=decisions.decisions,
        shadowed=[one for one in decisions.decisions if one.mode == "shadow"],
        more=found.more,
        live="/events/runs" if found.run.status == "running" else "",
    )


async def _hooks_by_kind(principal: Principal, services: Services, tenant: str) -> dict[str, list[Hook]]:
    """The definitions that can be tried on recorded operations of a tenant, by their kind."""
    found = defaultdict[str, list[Hook]](list)
    for one in (await list_hooks(principal, services, limit=_MOST_HOOKS)).hooks:
        if isinstance(one, Hook) and one.tenant_id in ("", tenant):
            found[kind_of(one.event_type)].append(one)
    return found
