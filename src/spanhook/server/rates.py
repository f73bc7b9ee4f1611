"""How often callers may call. Each process counts for itself, in memory."""

import math
import time

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal


class Rates:
    """Limits of requests.

    Args:
        rate: Requests of one caller, such as ``600/minute``.
        failures: Failed authentications from one address.
    """

    def __init__(self, rate: str, failures: str) -> None:
        self._rate, self._failures = parse(rate), parse(failures)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def count(self, principal: Principal) -> None:
        """Count a request.

        Raises:
            Problem: The caller has sent too many.
        """
        if not await self._limiter.hit(self._rate, "caller", principal.how, principal.tenant, principal.subject):
            raise await self._exceeded(self._rate, "caller", principal.how, principal.tenant, principal.subject)

    async def check_failures(self, address: str) -> None:
        """Refuse an address from which too many have failed to authenticate.

        Raises:
            Problem: It is one.
        """
        if not await self._limiter.test(self._failures, "failures", address):
            raise await self._exceeded(self._failures, "failures", address)

    async def count_failure(self, address: str) -> None:
        """Count a failed authentication."""
        await self._limiter.hit(self._failures, "failures", address)

    async def _exceeded(self, item: RateLimitItem, *names: str) -> Problem:
        window = await self._limiter.get_window_stats(item, *names)
        seconds = max(1, math.ceil(window.reset_time - time.time()))
        return Problem(
            "rate_limited", f"more than {item.amount} per {_period(item)}", headers={"Retry-After": str(seconds)}
        )


def _period(item: RateLimitItem) -> str:
    return item.GRANULARITY.name
