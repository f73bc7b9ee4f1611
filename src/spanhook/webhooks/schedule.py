"""When a delivery is tried again, and what a response means."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Meaning = Literal["delivered", "again", "gone"]
GONE = 410
_LONGEST_ASKED_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """How often and when a delivery is tried.

    Attributes:
        attempts: How many attempts a delivery has before it is given up.
        first: Seconds from the first attempt to the second; twice as many to the third, and so on.
        longest: The most seconds between two.
    """

    attempts: int = 12
    first: float = 5.0
    longest: float = 6 * 3600.0

    def pause(self, tried: int, retry_after: str, now: float) -> float:
        """Seconds until the next attempt: half to all of the time that doubles, and no less than the receiver asks for.

        Args:
            tried: How many attempts there were, at least 1.
            retry_after: The header ``Retry-After`` (RFC 9110, section 10.2.3), or empty.
            now: The time in seconds since the epoch.
        """
        most = min(self.first * 2.0 ** min(tried - 1, 50), self.longest)
        return max(most * random.uniform(0.5, 1.0), asked(retry_after, now))  # noqa: S311


def asked(retry_after: str, now: float) -> float:
    """Seconds that a receiver asks to wait, a day at most; 0 if it asks for none, or in a way that cannot be read."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:20]), _LONGEST_ASKED_S)
    try:
        at = parsedate_to_datetime(text)
        seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.fromtimestamp(now, UTC)
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds.total_seconds(), 0.0), _LONGEST_ASKED_S)


def meaning(status: int) -> Meaning:
    """What a status means. Only 2xx is a success: redirects are not followed. 410 says to send nothing any more."""
    if 200 <= status < 300:
        return "delivered"
    return "gone" if status == GONE else "again"
