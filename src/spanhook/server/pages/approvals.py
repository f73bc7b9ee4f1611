"""The page of requests for approval, and answering them."""

from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response

from spanhook.server.needs import Needs, services_of
from spanhook.server.pages.forms import Fields, Form
from spanhook.server.pages.rendering import goes_to, render
from spanhook.server.problems import Problem
from spanhook.server.routes.approvals import Answer, Id, Status, approve, deny, list_approvals
from spanhook.server.scopes import Principal
from spanhook.server.services import Services

router = APIRouter(prefix="/approvals", include_in_schema=False)

Serving = Annotated[Services, Depends(services_of)]
Decider = Annotated[Principal, Depends(Needs("approvals:decide"))]
LONGEST_REASON = 1000


@router.get("")
async def page(request: Request, principal: Decider, services: Serving, status: Status = "pending") -> Response:
    """Requests for approval that are open, or of another status."""
    found = await list_approvals(principal, services, status)
    shown = found.approvals if status == "pending" else found.approvals[::-1]
    return render(
        request.scope,
        "approvals.html",
        approvals=shown,
        chosen=status,
        statuses=get_args(Status),
        live="/events/approvals" if status == "pending" else "",
    )


@router.post("/{id}/approve")
async def approved(id: Id, principal: Decider, services: Serving, form: Form) -> Response:
    """Approve a request."""
    await approve(id, _answer(form), principal, services)
    return goes_to("/approvals")


@router.post("/{id}/deny")
async def denied(id: Id, principal: Decider, services: Serving, form: Form) -> Response:
    """Deny a request."""
    await deny(id, _answer(form), principal, services)
    return goes_to("/approvals")


def _answer(form: Fields) -> Answer:
    reason = form.get("reason", "").strip()
    if len(reason) > LONGEST_REASON:
        raise Problem("invalid", f"the reason has {len(reason)} characters; expected at most {LONGEST_REASON}")
    return Answer(reason=reason)
