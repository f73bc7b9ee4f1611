"""Refusals of calls that nobody has approved."""

from typing import NoReturn

from spanhook.errors import Reject
from spanhook.store import ApprovalRequest


class NotApproved(Reject):
    """A call was not approved, or not yet.

    Attributes:
        approval_id: The request.
    """

    approval_id: str = ""

    @classmethod
    def of(cls, request: ApprovalRequest, reason: str, status_code: int) -> "NotApproved":
        """The refusal of a request."""
        made = cls(reason, status_code=status_code)
        made.approval_id = request.id
        return made


def refuse(request: ApprovalRequest) -> NoReturn:
    """Refuse a call whose request is not approved.

    Raises:
        NotApproved: Always.
    """
    why = f": {request.reason}" if request.reason else ""
    if request.status == "pending":
        raise NotApproved.of(
            request,
            f"{request.tool!r} needs approval {request.id}, which nobody has given yet; call it again once it is "
            "approved",
            409,
        )
    if request.status == "denied":
        raise NotApproved.of(request, f"{request.tool!r} was not approved{why}", 403)
    if request.answered_by:
        raise NotApproved.of(request, f"the answer to approval {request.id} of {request.tool!r} is too old", 403)
    raise NotApproved.of(request, f"nobody has answered approval {request.id} of {request.tool!r} in time", 403)
