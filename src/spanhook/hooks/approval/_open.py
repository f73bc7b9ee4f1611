"""Which requests are open, as far as this process has seen them: for its gauges."""

import time
from contextlib import suppress

from spanhook.errors import StoreError
from spanhook.store import ApprovalRequest, Approvals

MOST_CHECKED = 100
"""How many of them, the oldest first, are looked up in the store; of the others, only the time is considered."""
CHECKED_FOR_S = 5.0


class OpenRequests:
    """Requests that were open when this process saw them last. Most are answered elsewhere, so the store is asked.

    Args:
        approvals: The store.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._known: dict[str, ApprovalRequest] = {}
        self._checked = float("-inf")

    def see(self, request: ApprovalRequest) -> None:
        """Note how a request is now."""
        if request.status == "pending":
            self._known[request.id] = request
        else:
            self._known.pop(request.id, None)

    def asked_at(self) -> list[float]:
        """When each of them was asked, in seconds since the epoch, the earliest first."""
        if time.monotonic() - self._checked >= CHECKED_FOR_S:
            self._checked = time.monotonic()
            with suppress(StoreError):  # they may still be open
                self._check()
        now = time.time()
        return sorted(one.asked_at for one in list(self._known.values()) if now < one.expires_at)

    def _check(self) -> None:
        known = sorted(list(self._known.values()), key=lambda one: one.asked_at)
        for one in known[:MOST_CHECKED]:
            found = self._approvals.find(one.id)
            if found is None or found.status != "pending":
                self._known.pop(one.id, None)
        for one in known[MOST_CHECKED:]:
            if time.time() >= one.expires_at:
                self._known.pop(one.id, None)
