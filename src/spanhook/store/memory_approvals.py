"""Requests for approval in the memory of one process."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from spanhook.store._renewal import renewed
from spanhook.store.approvals import ApprovalRequest, Approvals, ApprovalStatus, Shelf, chosen

T = TypeVar("T")
_SWEEP_EVERY = 1000


class _Shelf:
    def __init__(self, now: float, requests: dict[str, ApprovalRequest], bindings: dict[str, str]) -> None:
        self.now, self._requests, self._bindings = now, requests, bindings

    def by_id(self, id: str) -> ApprovalRequest | None:
        return self._requests.get(id)

    def latest(self, binding: str) -> ApprovalRequest | None:
        return self._requests.get(self._bindings.get(binding, ""))

    def save(self, request: ApprovalRequest) -> None:
        if request.id not in self._requests:
            self._bindings[request.binding] = request.id
        self._requests[request.id] = request


class MemoryApprovals(Approvals):
    """Requests in memory.

    Args:
        clock: Seconds since the epoch.
    """

    remote = False
    shown = "memory"

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._requests: dict[str, ApprovalRequest] = {}
        self._bindings: dict[str, str] = {}
        self._changes = 0
        self._lock = threading.Lock()
        renewed.add(self)

    def renew(self) -> None:
        """Use a lock of its own in a forked child, and no requests: approvals are the parent's, which may use them."""
        self._lock = threading.Lock()
        self._requests, self._bindings = {}, {}

    def change(self, change: Callable[[Shelf], T]) -> T:
        now = self._clock()
        with self._lock:
            self._changes += 1
            if self._changes % _SWEEP_EVERY == 0:
                self._forget(now)
            return change(_Shelf(now, self._requests, self._bindings))

    def requests(
        self, status: ApprovalStatus | None = None, limit: int = 1000, tenant: str | None = None
    ) -> list[ApprovalRequest]:
        now = self._clock()
        with self._lock:
            found = [request.at(now) for request in self._requests.values()]
        return chosen(found, status, tenant)[-limit:]

    def pending_at(self, place: str) -> list[ApprovalRequest]:
        now = self._clock()
        with self._lock:
            found = [request for request in self._requests.values() if request.place == place]
        return [request for request in found if request.at(now).status == "pending"]

    def close(self) -> None:
        """Do nothing: what is in memory stays there."""

    def _forget(self, now: float) -> None:
        for known, request in list(self._requests.items()):
            if request.kept_until < now:
                del self._requests[known]
                if self._bindings.get(request.binding) == known:
                    del self._bindings[request.binding]
