"""What becomes of requests, as metrics."""

import time
from collections.abc import Iterator

from spanhook import semconv
from spanhook.gating import Measures
from spanhook.hooks.approval._open import OpenRequests
from spanhook.store import ApprovalRequest, Approvals


class Figures:
    """Counts requests: each when it is asked for, and once this process learns what has become of it.

    Args:
        approvals: The store.
    """

    def __init__(self, approvals: Approvals) -> None:
        self._open = OpenRequests(approvals)
        self._said: dict[str, str] = {}
        measures = Measures("approval")
        self.requests = measures.counter(
            semconv.METRIC_APPROVAL_REQUESTS, "{request}", "Requests for approval, by what became of them"
        )
        self.wait = measures.histogram(semconv.METRIC_APPROVAL_WAIT, "s", "Time from a request to its answer")
        self.pending = measures.watched(
            semconv.METRIC_APPROVAL_PENDING, "{request}", "Requests that nobody has answered yet", self._pending
        )
        self.age = measures.watched(
            semconv.METRIC_APPROVAL_AGE, "s", "Time since the oldest request without an answer was asked", self._age
        )

    def begin(self, hook: str) -> None:
        """Note what has become of requests since.

        Args:
            hook: The hook, by its name.
        """
        self._said = {semconv.HOOK: hook}
        self.pending()
        self.age()
        for request in self._open.closed():
            self._note(request)

    def count(self, outcome: str) -> None:
        """Count a request that was asked for or used."""
        self.requests(1, {**self._said, semconv.APPROVAL_OUTCOME: outcome})

    def see(self, request: ApprovalRequest) -> None:
        """Note how a request is now."""
        if self._open.see(request):
            self._note(request)

    def _note(self, request: ApprovalRequest) -> None:
        self.count("approved" if request.status == "used" else request.status)
        if request.status != "expired":
            self.wait(max(0.0, request.answered_at - request.asked_at), self._said)

    def _pending(self) -> Iterator[tuple[float, dict[str, str]]]:
        yield len(self._open.asked_at()), self._said

    def _age(self) -> Iterator[tuple[float, dict[str, str]]]:
        asked_at = self._open.asked_at()
        yield max(0.0, time.time() - asked_at[0]) if asked_at else 0.0, self._said
