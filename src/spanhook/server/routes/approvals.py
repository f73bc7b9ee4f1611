"""``/v1/approvals``: requests for approval, and answering them."""

import asyncio
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from spanhook.errors import ConfigurationError
from spanhook.server.audit import record
from spanhook.server.needs import Needs, services_of
from spanhook.server.problems import ALWAYS, ON_CHANGES, Problem, documented
from spanhook.server.routes.hook_models import time_of
from spanhook.server.scopes import Principal
from spanhook.server.services import Services
from spanhook.store import ApprovalError, ApprovalRequest, Approvals, open_approvals

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])

Serving = Annotated[Services, Depends(services_of)]
Decider = Annotated[Principal, Depends(Needs("approvals:decide"))]
Id = Annotated[str, Path(min_length=1, max_length=200)]
Status = Literal["pending", "approved", "denied", "expired", "used"]
_CHANGED = documented(*ALWAYS, *ON_CHANGES, "not_found", "already_answered", "approver_not_allowed")
_MOST = 1000


class Approval(BaseModel):
    """A request for approval of one call."""

    id: str
    policy: str
    tool: str
    tenant_id: str
    user_id: str
    session_id: str
    agent: str
    arguments: str = Field(description="The arguments as JSON.")
    title: str
    asked_at: datetime
    expires_at: datetime
    approvers: list[str] = Field(description="Patterns of who may answer; empty for all.")
    status: Status
    answered_by: str
    answered_at: datetime | None
    reason: str

    @classmethod
    def of(cls, one: ApprovalRequest) -> "Approval":
        """What is shown of a request."""
        own = ("asked_at", "expires_at", "answered_at", "approvers")
        fields = {name: getattr(one, name) for name in cls.model_fields if name not in own}
        answered = _time(one.answered_at) if one.answered_at else None
        asked, expires = _time(one.asked_at), _time(one.expires_at)
        return cls(**fields, asked_at=asked, expires_at=expires, answered_at=answered, approvers=list(one.approvers))


class ApprovalList(BaseModel):
    """Requests for approval, the oldest first."""

    approvals: list[Approval]


class Answer(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=1000, description="Why, for whoever asked.")


@router.get("", responses=documented(*ALWAYS))
async def list_approvals(
    principal: Decider, services: Serving, status: Annotated[Status | None, Query()] = "pending"
) -> ApprovalList:
    """List requests for approval that are open, or of another status."""
    tenant = None if principal.operator else principal.tenant
    found = await asyncio.to_thread(_approvals(services).requests, status, _MOST, tenant)
    return ApprovalList(approvals=[Approval.of(one) for one in found if principal.sees(one.tenant_id)])


@router.get("/{id}", responses=documented(*ALWAYS, "not_found"))
async def get_approval(id: Id, principal: Decider, services: Serving) -> Approval:
    """One request for approval."""
    return Approval.of(await _found(id, principal, services))


@router.post("/{id}/approve", responses=_CHANGED)
async def approve(id: Id, given: Answer, principal: Decider, services: Serving) -> Approval:
    """Approve a request."""
    return await _answer(id, given, principal, services, approve=True)


@router.post("/{id}/deny", responses=_CHANGED)
async def deny(id: Id, given: Answer, principal: Decider, services: Serving) -> Approval:
    """Deny a request."""
    return await _answer(id, given, principal, services, approve=False)


async def _found(id: str, principal: Principal, services: Services) -> ApprovalRequest:
    found = await asyncio.to_thread(_approvals(services).find, id)
    if found is None or not principal.sees(found.tenant_id):
        raise Problem("not_found", f"there is no request {id!r} here")
    return found


async def _answer(id: str, given: Answer, principal: Principal, services: Services, *, approve: bool) -> Approval:
    """Record the answer, and give it. A record comes first, so that there is no answer without one."""
    found = await _found(id, principal, services)
    if found.status != "pending":
        raise Problem("already_answered", f"request {id!r} is not open any more: it is {found.status}")
    await _record(services, principal, "approval.approve" if approve else "approval.deny", found)
    try:
        answered = await asyncio.to_thread(
            _approvals(services).answer, id, approve=approve, by=principal.subject, reason=given.reason
        )
    except ApprovalError as error:
        await _record(services, principal, "approval.refused", found)
        now = await asyncio.to_thread(_approvals(services).find, id)
        still_open = now is not None and now.status == "pending"
        raise Problem("approver_not_allowed" if still_open else "already_answered", str(error)) from None
    return Approval.of(answered)


async def _record(services: Services, principal: Principal, action: str, one: ApprovalRequest) -> None:
    async with services.database.writing() as connection:
        await record(connection, principal, action, one.id, one.tenant_id, tool=one.tool, policy=one.policy)


def _approvals(services: Services) -> Approvals:
    try:
        return open_approvals(services.settings.approvals or services.database.url)
    except ConfigurationError:
        raise Problem(
            "unavailable", "the server has no store of approvals; name one in its setting approvals"
        ) from None


def _time(seconds: float) -> datetime:
    return time_of(int(seconds * 1e9))
