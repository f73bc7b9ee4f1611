"""``/v1/runs``, ``/v1/decisions`` and ``/v1/usage``: what has happened, and what it cost."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query

from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, Problem, documented
from spanhook.server.routes.run_models import (
    Day,
    Decision,
    DecisionPage,
    RunPage,
    RunSummary,
    RunWithTrace,
    Time,
    UsageGroup,
    UsageTable,
    day_of,
    ns_of,
)
from spanhook.server.scopes import Principal
from spanhook.server.services import Services
from spanhook.store.control import (
    DecisionFilter,
    RunFilter,
    UsageBy,
    decisions_page,
    run_detail,
    runs_page,
    usage_by,
)

router = APIRouter(prefix="/v1", tags=["runs"])

Serving = Annotated[Services, Depends(services_of)]
Reader = Annotated[Principal, Depends(Needs("runs:read"))]
Accountant = Annotated[Principal, Depends(Needs("usage:read"))]
Filter = Annotated[str, Query(max_length=200)]
Cursor = Annotated[str, Query(max_length=500, description="next_cursor of the page before.")]
Limit = Annotated[int, Query(ge=1, le=500)]
Group = Literal["day", "tenant", "user", "agent", "model"]
_COLUMNS: dict[Group, UsageBy] = {
    "day": "day",
    "tenant": "tenant_id",
    "user": "user_id",
    "agent": "agent",
    "model": "model",
}


@router.get("/runs", responses=documented(*ALWAYS))
async def list_runs(
    principal: Reader,
    services: Serving,
    status: Filter = "",
    agent: Filter = "",
    tenant: Filter = "",
    user: Filter = "",
    session: Filter = "",
    model: Filter = "",
    hook: Filter = "",
    search: Filter = "",
    since: Time | None = None,
    until: Time | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> RunPage:
    """List runs, the latest first."""
    given = RunFilter(
        status=status,
        agent=agent,
        tenant_id=tenant,
        user_id=user,
        session_id=session,
        model=model,
        hook=hook,
        search=search,
        since_ns=ns_of(since),
        until_ns=ns_of(until),
    )
    page = await runs_page(services.database, _tenant(principal), given, cursor=cursor, limit=limit)
    return RunPage(runs=[RunSummary.of(one) for one in page.rows], next_cursor=page.cursor)


@router.get("/runs/{run_id}", responses=documented(*ALWAYS, "not_found"))
async def get_run(
    run_id: Annotated[str, Path(min_length=1, max_length=200)], principal: Reader, services: Serving
) -> RunWithTrace:
    """One run, with the spans and log records of its trace."""
    found = await run_detail(services.database, _tenant(principal), run_id)
    if found is None:
        raise Problem("not_found", f"there is no run {run_id!r} here")
    return RunWithTrace.of(found)


@router.get("/decisions", responses=documented(*ALWAYS))
async def list_decisions(
    principal: Reader,
    services: Serving,
    hook: Filter = "",
    decision: Filter = "",
    mode: Literal["enforce", "shadow"] | None = None,
    event: Filter = "",
    run: Filter = "",
    agent: Filter = "",
    user: Filter = "",
    since: Time | None = None,
    until: Time | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> DecisionPage:
    """List decisions of hooks but ``allow``, the latest first."""
    given = DecisionFilter(
        hook=hook,
        decision=decision,
        mode=mode or "",
        event_type=event,
        run_id=run,
        agent=agent,
        user_id=user,
        since_ns=ns_of(since),
        until_ns=ns_of(until),
    )
    page = await decisions_page(services.database, _tenant(principal), given, cursor=cursor, limit=limit)
    return DecisionPage(decisions=[Decision.of(one) for one in page.rows], next_cursor=page.cursor)


@router.get("/usage", responses=documented(*ALWAYS))
async def get_usage(
    principal: Accountant,
    services: Serving,
    by: Annotated[list[Group], Query(max_length=5, description="What the groups have in common; none for a sum.")] = [],  # noqa: B006
    since: Annotated[Day | None, Query(description="The first day.")] = None,
    until: Annotated[Day | None, Query(description="The last day.")] = None,
    tenant: Filter = "",
    user: Filter = "",
    agent: Filter = "",
    model: Filter = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> UsageTable:
    """Tokens and cost, in groups."""
    rows = await usage_by(
        services.database,
        _tenant(principal),
        [_COLUMNS[one] for one in by],
        since_day=day_of(since),
        until_day=day_of(until, after=1),
        limit=limit,
        tenant_id=tenant,
        user_id=user,
        agent=agent,
        model=model,
    )
    return UsageTable(usage=[UsageGroup.of_row(one) for one in rows])


def _tenant(principal: Principal) -> str | None:
    return None if principal.operator else principal.tenant
