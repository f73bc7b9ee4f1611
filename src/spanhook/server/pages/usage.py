"""The page of usage: tokens and cost over time, and by what."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.charts import Chart, stacked
from spanhook.server.pages.parameters import Filter, day_in
from spanhook.server.pages.rendering import render
from spanhook.server.problems import Problem
from spanhook.server.routes.run_models import UsageGroup
from spanhook.server.routes.runs import Group, get_usage
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/usage", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Accountant = Annotated[Principal, Depends(Needs("usage:read"))]
MOST_DAYS = 366
_DAYS, _ROWS = 30, 20
_EPOCH = date(1970, 1, 1)
_GROUPS: tuple[tuple[Group, str], ...] = (("model", "Models"), ("agent", "Agents"), ("user", "Users"))
_TENANTS: tuple[Group, str] = ("tenant", "Tenants")


@router.get("")
async def page(
    request: Request,
    principal: Accountant,
    services: Serving,
    since: Filter = "",
    until: Filter = "",
    tenant: Filter = "",
    user: Filter = "",
    agent: Filter = "",
    model: Filter = "",
) -> Response:
    """Tokens and cost of some days."""
    first, last = _days(since, until)
    given = {"tenant": tenant, "user": user, "agent": agent, "model": model}

    async def by(*groups: Group, limit: int) -> list[UsageGroup]:
        found = await get_usage(principal, services, by=list(groups), since=first, until=last, limit=limit, **given)
        return found.usage

    days = {one.day: one for one in await by("day", limit=MOST_DAYS) if one.day is not None}
    (total,) = await by(limit=1)
    groups = (*_GROUPS, _TENANTS) if principal.operator else _GROUPS
    tables = [(name, title, await by(name, limit=_ROWS)) for name, title in groups]
    cost, tokens = _charts(days, first, last)
    return render(
        request.scope,
        "usage.html",
        total=total,
        cost=cost,
        tokens=tokens,
        days=[one for _, one in sorted(days.items(), reverse=True)],
        tables=tables,
        given=given,
        first=first.isoformat(),
        last=last.isoformat(),
        filtered=any(given.values()) or bool(since or until),
        live="/events/usage",
    )


def _days(since: str, until: str) -> tuple[date, date]:
    last = day_in(until, "until") or datetime.now(UTC).date()
    first = day_in(since, "since") or max(_EPOCH, last - timedelta(days=min(_DAYS, last.toordinal()) - 1))
    if first < _EPOCH or not 0 <= (last - first).days < MOST_DAYS:
        raise Problem("invalid", f"from {first} until {last}: expected up to {MOST_DAYS} days, none before {_EPOCH}")
    return first, last


def _charts(days: dict[date, UsageGroup], first: date, last: date) -> tuple[Chart, Chart]:
    every = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    labels = [f"{one.day} {one:%b}" for one in every]

    def of(name: str) -> list[float]:
        return [float(getattr(days[one], name)) if one in days else 0.0 for one in every]

    return stacked(labels, [of("cost_usd")]), stacked(labels, [of("input_tokens"), of("output_tokens")])
