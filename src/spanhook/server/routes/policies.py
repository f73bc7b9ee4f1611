"""``/v1/policy``: policies and settings of processes, every version of them, and going back to one."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from spanhook.server.needs import Needs
from spanhook.server.policy_store import PolicyVersion
from spanhook.server.problems import ALWAYS, ON_CHANGES, Code, documented
from spanhook.server.routes.hook_models import Given, time_of
from spanhook.server.routes.hooks import Cursor, Limit, Serving
from spanhook.server.scopes import Principal

router = APIRouter(prefix="/v1/policy", tags=["policy"])

Manager = Annotated[Principal, Depends(Needs("policies:manage"))]
Tenant = Annotated[
    str | None,
    Query(
        max_length=200, description="By default the caller's; empty for the policy of all tenants, with hooks:admin."
    ),
]
Comment = Annotated[str, Field(max_length=1000, description="Why, for the history.")]
_BIG = 2**63 - 1
_CHANGED: tuple[Code, ...] = (*ALWAYS, *ON_CHANGES, "not_found", "conflict")


class NewPolicy(Given):
    """A policy to be put in force."""

    content: str = Field(
        max_length=1_000_000,
        description="YAML with any of version, mode, settings and policies, as in a configuration file.",
    )
    comment: Comment = ""
    expected_version: int | None = Field(
        default=None,
        ge=0,
        le=_BIG,
        strict=True,
        description="The version that must be in force; 0 for none. By default any.",
    )


class Rollback(Given):
    """A version to go back to."""

    version: int = Field(ge=1, le=_BIG, strict=True)
    comment: Comment = ""


class PolicyShown(BaseModel):
    """One version of a policy."""

    tenant_id: str
    version: int = Field(description="It grows with each change; 0 if there has been none.")
    content: str
    digest: str
    actor: str
    comment: str
    created_at: Any = Field(description="When it was put in force; null if there has been none.")

    @classmethod
    def of(cls, one: PolicyVersion) -> "PolicyShown":
        """What is shown of a version."""
        return cls(
            tenant_id=one.tenant,
            version=one.version,
            content=one.content,
            digest=one.digest,
            actor=one.actor,
            comment=one.comment,
            created_at=time_of(one.created_ns).isoformat() if one.created_ns else None,
        )


class PolicyPage(BaseModel):
    """Some versions, the newest first."""

    versions: list[PolicyShown]
    next_cursor: str


@router.get("", responses=documented(*ALWAYS, "not_found"))
async def get_policy(principal: Manager, services: Serving, tenant: Tenant = None) -> PolicyShown:
    """The policy in force."""
    return PolicyShown.of(await services.policies.current(principal, tenant))


@router.put("", responses=documented(*_CHANGED))
async def put_policy(given: NewPolicy, principal: Manager, services: Serving, tenant: Tenant = None) -> PolicyShown:
    """Check a policy and put it in force. Processes follow it soon."""
    return PolicyShown.of(
        await services.policies.put(principal, tenant, given.content, given.comment, given.expected_version)
    )


@router.get("/history", responses=documented(*ALWAYS, "not_found"))
async def policy_history(
    principal: Manager, services: Serving, tenant: Tenant = None, cursor: Cursor = None, limit: Limit = 100
) -> PolicyPage:
    """All versions, the newest first."""
    found, more = await services.policies.history(principal, tenant, cursor=cursor, limit=limit)
    return PolicyPage(versions=[PolicyShown.of(one) for one in found], next_cursor=more)


@router.post("/rollback", responses=documented(*_CHANGED))
async def roll_back(given: Rollback, principal: Manager, services: Serving, tenant: Tenant = None) -> PolicyShown:
    """Put an earlier version in force again, as a new one."""
    return PolicyShown.of(await services.policies.roll_back(principal, tenant, given.version, given.comment))
