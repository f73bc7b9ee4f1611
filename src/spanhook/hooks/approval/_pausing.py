"""Pauses what runs until its request is answered, where the framework can."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakValueDictionary

from spanhook.gating import Pausable
from spanhook.store import ApprovalRequest, Approvals

P = ParamSpec("P")
T = TypeVar("T")
_DECISIONS = {"approve": True, "deny": False}


class Asking(Protocol):
    """The hook that pauses."""

    name: str

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of the store."""
        ...

    async def answered(
        self, request: ApprovalRequest, approve: bool, by: str, reason: str, *, checked: bool
    ) -> ApprovalRequest:
        """Answer a request; returns it as it is then."""
        ...


class Pausing:
    """Pauses calls of one hook.

    Args:
        hook: The hook.
        approvals: Where its requests are kept.
    """

    def __init__(self, hook: Asking, approvals: Approvals) -> None:
        self._hook, self._approvals = hook, approvals
        self._turns: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def paused(self, request: ApprovalRequest, here: Pausable) -> ApprovalRequest:
        """Pause until the request is answered, and so are those of other calls of the same node.

        A node that pauses for one call runs again with all of them, so none may run before. And a framework may give
        the answer of one call to another, so an answer names its request. What else it is resumed with says no more
        than that the request may have been answered elsewhere.
        """
        has_paused = False
        while True:
            request = await self._hook.call(self._approvals.find, request.id) or request
            asked = (
                request if request.status == "pending" else await self._hook.call(self._other_pending, request, here)
            )
            if asked is None:
                if not has_paused:
                    self.go_on(request, here)
                return request
            value: Any = here.ask(self._question(asked))
            has_paused = True
            if isinstance(value, dict):
                await self._take(request, cast("dict[str, Any]", value))

    def turn(self, here: Pausable) -> asyncio.Lock:
        """Calls of one node take turns: which of them gets which answer is not known before."""
        key = id(asyncio.get_running_loop()), here.place
        lock = self._turns.get(key)
        if lock is None:
            lock = self._turns[key] = asyncio.Lock()
        return lock

    def go_on(self, request: ApprovalRequest, here: Pausable) -> None:
        """Take the answer that waits for this call, if any, so that no question of the tool's own gets it."""
        with suppress(here.signal):
            here.ask(self._question(request))

    def _other_pending(self, request: ApprovalRequest, here: Pausable) -> ApprovalRequest | None:
        """The request of another call of the same node that is not answered yet."""
        return next((one for one in self._approvals.pending_at(here.place) if one.id != request.id), None)

    async def _take(self, request: ApprovalRequest, given: dict[str, Any]) -> None:
        """Answer a request with what something was resumed with."""
        approve = _DECISIONS.get(str(given.get("decision", "")))
        named = str(given.get("approval_id", ""))
        found = request if named == request.id else await self._hook.call(self._approvals.find, named)
        if approve is None or found is None or found.status != "pending" or _whose(found) != _whose(request):
            return
        by, reason = str(given.get("by", "")), str(given.get("reason", ""))
        checked = bool(by) or (approve and found.restricted)
        await self._hook.answered(found, approve, by if checked else "whoever resumed it", reason, checked=checked)

    def _question(self, request: ApprovalRequest) -> dict[str, Any]:
        """What whoever resumes is shown."""
        return {
            "type": "approval",
            "approval_id": request.id,
            "policy": self._hook.name,
            "tool": request.tool,
            "arguments": request.arguments,
            "title": request.title,
            "repeats": request.repeats,
            "expires_at": request.expires_at,
        }


def _whose(request: ApprovalRequest) -> tuple[str, ...]:
    return request.policy, request.tenant_id, request.user_id, request.session_id
