"""What is to be delivered, and where that is kept until it is.

An event is in an outbox once its transaction is committed. From then on it is delivered at least once, or ends among
the dead: a deliverer that dies leaves a lease behind, and another one takes the delivery when that has ended.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

State = Literal["pending", "delivered", "dead"]


@dataclass(frozen=True, slots=True)
class Due:
    """A delivery that somebody has leased.

    Attributes:
        delivery_id: Its id.
        lease: Who has leased it: what comes of it is kept only if nobody else has since.
        webhook_id: The endpoint.
        event_id, event_type: The event.
        url: Where it goes.
        secrets: What it is signed with, the newest first; at least one.
        body: What is sent.
        attempts: How many attempts there were before.
        traceparent: The span that it belongs to; empty for none.
    """

    delivery_id: str
    lease: str
    webhook_id: str
    event_id: str
    event_type: str
    url: str
    secrets: tuple[str, ...]
    body: str
    attempts: int
    traceparent: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt.

    Attributes:
        state: ``pending`` if it is tried again.
        due_ns: When, in nanoseconds since the epoch.
        time_ns, duration_ns: When it was, and how long it took.
        status: The HTTP status; 0 for none.
        error: Why it failed; empty if it did not.
        response: The beginning of the response's body.
        gone: Whether the endpoint wants no more.
        refused: Whether nothing was sent, as nothing may be sent there.
    """

    state: State
    due_ns: int
    time_ns: int
    duration_ns: int
    status: int = 0
    error: str = ""
    response: str = ""
    gone: bool = False
    refused: bool = False


class Outbox(Protocol):
    """Where deliveries are kept. All methods may wait, and raise ``StoreError`` if it cannot be used now."""

    def claim(self, now_ns: int, until_ns: int, most: int) -> list[Due]:
        """Lease deliveries that are due, of ordered endpoints only the oldest one that is left.

        Args:
            now_ns: The time in nanoseconds since the epoch.
            until_ns: When the lease ends.
            most: How many at most.
        """
        ...

    def settle(self, due: Due, outcome: Outcome) -> None:
        """Keep what came of an attempt."""
        ...
