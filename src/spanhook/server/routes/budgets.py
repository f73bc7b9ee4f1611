"""``/v1/budgets``: which budgets there are, and how much of them is used."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from spanhook.model import Identity
from spanhook.server.budgets import Known
from spanhook.server.needs import Needs
from spanhook.server.problems import ALWAYS, documented
from spanhook.server.routes.hooks import Serving
from spanhook.server.scopes import Principal

router = APIRouter(prefix="/v1/budgets", tags=["usage"])

Viewer = Annotated[Principal, Depends(Needs("usage:read"))]
Whose = Annotated[str, Query(max_length=200, description="Whose use is asked for, of budgets per run, session, ...")]


class BudgetUse(BaseModel):
    """What is used of a budget in the current period."""

    tokens: int
    usd: float
    reserved_tokens: int = Field(description="What calls under way may use.")
    reserved_usd: float
    ends: datetime | None = Field(description="When the period ends; null if it has no end.")


class BudgetShown(BaseModel):
    """A budget."""

    source: Literal["definition", "policy"]
    id: str
    name: str = Field(description="The name of the definition, or the id of the policy.")
    tenant_id: str
    enabled: bool
    mode: str
    per: str
    window: str
    tokens: int | None
    usd: float | None
    used: BudgetUse | None = Field(description="Null if it is not known.")
    unknown: str = Field(description="Why it is not known; otherwise empty.")

    @classmethod
    def of(cls, known: Known) -> "BudgetShown":
        """What is shown of a budget."""
        config: dict[str, Any] = {"per": "run", "window": "total", "tokens": None, "usd": None, **known.config}
        return cls(
            source=known.source,
            id=known.subject,
            name=known.name,
            tenant_id=known.tenant,
            enabled=known.enabled,
            mode=known.mode,
            used=_use(known),
            unknown=known.unknown,
            **{name: config[name] for name in ("per", "window", "tokens", "usd")},
        )


class BudgetList(BaseModel):
    """All budgets that the caller may see."""

    budgets: list[BudgetShown]


@router.get("", responses=documented(*ALWAYS))
async def list_budgets(
    principal: Viewer, services: Serving, tenant: Whose = "", user: Whose = "", session: Whose = "", run: Whose = ""
) -> BudgetList:
    """List budgets of definitions and policies, with what is used of them."""
    own = tenant if principal.operator else principal.tenant
    identity = Identity(tenant_id=own, user_id=user, session_id=session, run_id=run)
    return BudgetList(budgets=[BudgetShown.of(one) for one in await services.budgets.of(principal, identity)])


def _use(known: Known) -> BudgetUse | None:
    found = known.standing
    if found is None:
        return None
    ends = None if found.ends is None else datetime.fromtimestamp(found.ends, UTC)
    return BudgetUse(
        tokens=found.tokens,
        usd=found.usd,
        reserved_tokens=found.reserved_tokens,
        reserved_usd=found.reserved_usd,
        ends=ends,
    )
