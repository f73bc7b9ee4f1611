"""The page of budgets: which there are, and how much of them is used."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.parameters import Filter
from spanhook.server.pages.rendering import render
from spanhook.server.routes.budgets import BudgetShown, list_budgets
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/budgets", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Viewer = Annotated[Principal, Depends(Needs("usage:read"))]
_FULL = 0.8
"""From which part on a budget is shown as nearly used up."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a budget.

    Attributes:
        unit: ``usd`` or ``tokens``.
        most: How much there is.
        used: How much is used; ``None`` if that is not known.
        reserved: What calls under way may use.
    """

    unit: str
    most: float
    used: float | None
    reserved: float

    @property
    def part(self) -> float:
        """Which part is used, from 0 to 1."""
        return min(1.0, max(0.0, (self.used or 0.0) / self.most)) if self.most else 1.0

    @property
    def tone(self) -> str:
        """How it is shown: ``bad`` if nothing is left, ``warn`` if little is."""
        return "bad" if self.part >= 1 else "warn" if self.part >= _FULL else ""


def limits_of(budget: BudgetShown) -> list[Limit]:
    """The limits of a budget."""
    used = budget.used
    found = list[Limit]()
    if budget.usd is not None:
        found.append(Limit("usd", budget.usd, used and used.usd, used.reserved_usd if used else 0.0))
    if budget.tokens is not None:
        found.append(Limit("tokens", budget.tokens, used and used.tokens, used.reserved_tokens if used else 0))
    return found


@router.get("")
async def page(
    request: Request,
    principal: Viewer,
    services: Serving,
    tenant: Filter = "",
    user: Filter = "",
    session: Filter = "",
    run: Filter = "",
) -> Response:
    """Budgets of definitions and policies."""
    found = await list_budgets(principal, services, tenant, user, session, run)
    given = {"tenant": tenant, "user": user, "session": session, "run": run}
    return render(
        request.scope,
        "budgets.html",
        budgets=[(one, limits_of(one)) for one in found.budgets],
        given=given,
        filtered=any(given.values()),
        live="/events/usage",
    )
