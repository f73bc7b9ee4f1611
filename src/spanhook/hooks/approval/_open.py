"""Which requests are open, as far as this process has seen them: for metrics."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from spanhook.errors import StoreError
from spanhook.store import ApprovalRequest, Approvals

MOST_CHECKED = 100
"""How many of them, the oldest first, are looked up in the store at once; of others, only the time counts."""
CHECKED_FOR_S = 5.0


class OpenRequests:
    """Requests that this process has seen open. Most are answered elsewhere, so the store is asked about them.

    Args:
        approvals: The store.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._seen: dict[str, ApprovalRequest] = {}
        self._of = os.getpid()
        self._checked = float("-inf")

    @property
    def _known(self) -> dict[str, ApprovalRequest]:
        if self._of != os.getpid():  # the parent of a fork tells of its own
            self._of, self._seen = os.getpid(), {}
        return self._seen

    def see(self, request: ApprovalRequest) -> bool:
        """Note how a request is now. Returns whether it was open when it was seen last, and is not any more."""
        if request.status == "pending":
            self._known[request.id] = request
            return False
        return self._known.pop(request.id, None) is not None

    def closed(self) -> Iterator[ApprovalRequest]:
        """Those that are not open any more, each once."""
        now = time.time()
        for one in list(self._known.values()):
            if one.at(now).status != "pending" and self._known.pop(one.id, None) is not None:
                yield one.at(now) if one.status == "pending" else one

    def asked_at(self) -> list[float]:
        """When those that are open were asked, in seconds since the epoch, the earliest first."""
        if time.monotonic() - self._checked >= CHECKED_FOR_S:
            self._checked = time.monotonic()
            with suppress(StoreError):  # they may still be open
                self._check()
        now = time.time()
        return sorted(one.asked_at for one in list(self._known.values()) if one.at(now).status == "pending")

    def _check(self) -> None:
        known = sorted((one for one in list(self._known.values()) if one.status == "pending"), key=_asked_at)
        for one in known[:MOST_CHECKED]:
            found = self._approvals.find(one.id)
            if one.id not in self._known:
                continue
            if found is None:
                self._known.pop(one.id, None)
            else:
                self._known[one.id] = found


def _asked_at(request: ApprovalRequest) -> float:
    return request.asked_at
