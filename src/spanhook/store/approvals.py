"""Requests for approval: asked for once, answered once, used once, wherever they are kept.

What may become of a request is written here; stores only have to make each change as a whole.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol, Self, TypeVar

from spanhook.errors import SpanhookError

T = TypeVar("T")

ApprovalStatus = Literal["pending", "approved", "denied", "expired", "used"]
KEPT_S = 30 * 86400.0
"""How long a request is kept after it has expired."""


class ApprovalError(SpanhookError):
    """A request cannot be answered: it is unknown, was answered or has expired, or whoever answers may not."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One request for approval of one call.

    Attributes:
        id: Its id.
        binding: What it is for, as a hash: who asks, through which policy, for which call with which arguments.
        policy: The policy's id.
        tool: The tool, or what else the operation works on.
        tenant_id, user_id, session_id, agent: Who asks.
        arguments: The arguments as JSON, for whoever decides.
        title: What the policy says about it.
        asked_at, expires_at: When it was asked and until when it can be answered, in seconds since the epoch.
        valid_s: Seconds for which an answer holds.
        approvers: Patterns of the ids of those who may answer; empty for all.
        self_approval: Whether whoever asks may answer.
        place: Where a framework was paused for it; empty if nothing was.
        status: What has become of it.
        answered_by, answered_at, reason: The answer; empty and 0 without one.
        used_for: The call that has used it.
        paused: That call has paused, and may go on with it.
        repeats: The request that the same call has used before: what made it runs again.
    """

    id: str
    binding: str
    policy: str
    tool: str
    tenant_id: str = ""
    user_id: str = ""
    session_id: str = ""
    agent: str = ""
    arguments: str = ""
    title: str = ""
    asked_at: float = 0.0
    expires_at: float = 0.0
    valid_s: float = 3600.0
    approvers: tuple[str, ...] = ()
    self_approval: bool = False
    place: str = ""
    status: ApprovalStatus = "pending"
    answered_by: str = ""
    answered_at: float = 0.0
    reason: str = ""
    used_for: str = ""
    paused: bool = False
    repeats: str = ""

    def at(self, now: float) -> Self:
        """The request as it is at a time: one that nobody answered, or whose answer holds no more, has expired."""
        over = (self.status == "pending" and now >= self.expires_at) or (
            self.status in ("approved", "denied") and now >= self.answered_at + self.valid_s
        )
        return replace(self, status="expired") if over else self

    @property
    def restricted(self) -> bool:
        """Whether there are people who may not answer it."""
        return bool(self.approvers) or (bool(self.user_id) and not self.self_approval)

    @property
    def kept_until(self) -> float:
        """When it may be forgotten, in seconds since the epoch."""
        return max(self.expires_at, self.answered_at + self.valid_s) + KEPT_S

    def as_dict(self) -> dict[str, Any]:
        """Its fields, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Self:
        """A request from the fields that ``as_dict`` gave."""
        known: dict[str, Any] = {**fields, "approvers": tuple(fields["approvers"])}
        return cls(**known)


class Shelf(Protocol):
    """What a change of requests reads and writes, as a whole or not at all.

    Attributes:
        now: Seconds since the epoch, by the store's clock.
    """

    now: float

    def by_id(self, id: str) -> ApprovalRequest | None: ...

    def latest(self, binding: str) -> ApprovalRequest | None:
        """The last request with this binding."""
        ...

    def save(self, request: ApprovalRequest) -> None: ...


class Approvals(ABC):
    """Requests for approval.

    Attributes:
        remote: Whether a method may have to wait for a file or a server.
        shown: The store for messages, without a password.

    All methods raise ``StoreError`` if the store cannot be used now.
    """

    remote: bool
    shown: str

    @abstractmethod
    def change(self, change: Callable[[Shelf], T]) -> T:
        """Run a change as a whole. It may be run more than once, if others change the same requests meanwhile."""

    @abstractmethod
    def requests(
        self, status: ApprovalStatus | None = None, limit: int = 1000, tenant: str | None = None
    ) -> list[ApprovalRequest]:
        """Requests as they are now, the oldest first; only those of one status and of one tenant if these are given,
        and only the latest if there are more than ``limit``.
        """

    @abstractmethod
    def pending_at(self, place: str) -> list[ApprovalRequest]:
        """All open requests for which a framework was paused at this place, the oldest first."""

    @abstractmethod
    def close(self) -> None:
        """Close connections. They are opened again when needed."""

    def ask(self, request: ApprovalRequest, timeout_s: float) -> tuple[ApprovalRequest, bool]:
        """Ask for approval, unless there is a request with the same binding that is open or whose answer still holds.

        Args:
            request: What is asked for.
            timeout_s: Seconds until it expires.

        Returns:
            The request, and whether it is a new one.
        """

        def change(shelf: Shelf) -> tuple[ApprovalRequest, bool]:
            known = shelf.latest(request.binding)
            if known is not None and (known := known.at(shelf.now)).status in ("pending", "approved", "denied"):
                return known, False
            again = known is not None and known.status == "used" and request.place
            asked = replace(
                request,
                asked_at=shelf.now,
                expires_at=shelf.now + timeout_s,
                repeats=known.id if known is not None and again else "",
            )
            shelf.save(asked)
            return asked, True

        return self.change(change)

    def find(self, id: str) -> ApprovalRequest | None:
        """A request as it is now; ``None`` if it is unknown."""

        def change(shelf: Shelf) -> ApprovalRequest | None:
            known = shelf.by_id(id)
            return None if known is None else known.at(shelf.now)

        return self.change(change)

    def answer(self, id: str, *, approve: bool, by: str, reason: str = "", checked: bool = True) -> ApprovalRequest:
        """Approve or deny a request.

        Args:
            id: The request.
            approve: The answer.
            by: Who answers.
            reason: Why, for whoever asked.
            checked: Whether it must be somebody who may answer.

        Raises:
            ApprovalError: It is unknown, was answered or has expired, or ``by`` may not answer it.
        """

        def change(shelf: Shelf) -> ApprovalRequest:
            known = shelf.by_id(id)
            if known is None:
                raise ApprovalError(f"there is no request {id!r}; spanhook approvals list shows those that are open")
            known = known.at(shelf.now)
            if known.status != "pending":
                by_whom = f" by {known.answered_by}" if known.answered_by else ""
                raise ApprovalError(f"request {id!r} is not open any more: it was {_SAID[known.status]}{by_whom}")
            if checked:
                _check(known, by)
            answered = replace(
                known,
                status="approved" if approve else "denied",
                answered_by=by,
                answered_at=shelf.now,
                reason=reason,
            )
            shelf.save(answered)
            return answered

        return self.change(change)

    def use(self, id: str, used_for: str) -> bool:
        """Use an approval for a call.

        Args:
            id: The request.
            used_for: The call. It may use the approval again if it has paused since, and only then.

        Returns:
            Whether the call may run.
        """

        def change(shelf: Shelf) -> bool:
            known = shelf.by_id(id)
            if known is None:
                return False
            if known.status == "used":
                if not used_for or known.used_for != used_for or not known.paused:
                    return False
                shelf.save(replace(known, paused=False))
                return True
            if known.at(shelf.now).status != "approved":
                return False
            shelf.save(replace(known, status="used", used_for=used_for))
            return True

        return self.change(change)

    def pause(self, id: str, used_for: str) -> None:
        """Note that a call that has used an approval has paused before it was done, and runs again."""

        def change(shelf: Shelf) -> None:
            known = shelf.by_id(id)
            if known is not None and known.status == "used" and known.used_for == used_for:
                shelf.save(replace(known, paused=True))

        if used_for:
            self.change(change)

    def paused_by(self, binding: str, used_for: str) -> ApprovalRequest | None:
        """The last request with this binding, if this call has used it and has paused since."""

        def change(shelf: Shelf) -> ApprovalRequest | None:
            known = shelf.latest(binding)
            return known if known is not None and known.paused and known.used_for == used_for else None

        return self.change(change) if used_for else None


_SAID = {"approved": "approved", "denied": "denied", "expired": "not answered in time", "used": "approved and used"}


def chosen(
    found: Iterable[ApprovalRequest], status: ApprovalStatus | None, tenant: str | None
) -> list[ApprovalRequest]:
    """Those of one status and of one tenant, if these are given."""
    return [one for one in found if status in (None, one.status) and tenant in (None, one.tenant_id)]


def _check(request: ApprovalRequest, by: str) -> None:
    if not by:
        raise ApprovalError("an answer needs the id of whoever gives it")
    if by == request.user_id and not request.self_approval:
        raise ApprovalError(f"{by!r} has asked for this, and may not answer it")
    if request.approvers and not any(fnmatchcase(by, pattern) for pattern in request.approvers):
        raise ApprovalError(f"{by!r} is none of those who may answer: {', '.join(request.approvers)}")
