"""A ledger in the memory of one process."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from spanhook.store._renewal import renewed
from spanhook.store.ledger import MARGIN_S, Amounts, Caps, Standing

MOST_ACCOUNTS = 100_000
"""Beyond these, accounts that may be forgotten some day are, those that were not used for longest first."""


@dataclass(slots=True)
class _Account:
    until: float | None
    spent: Amounts = field(default_factory=Amounts)
    held: dict[str, Amounts] = field(default_factory=dict[str, Amounts])


class MemoryLedger:
    """Accounts in memory.

    Args:
        clock: Seconds since the epoch.
    """

    remote = False
    shown = "memory"

    def __init__(self, clock: Callable[[], float] = lambda: time.time()) -> None:  # noqa: PLW0108 - a replay exchanges it
        self._clock = clock
        self._accounts: OrderedDict[str, _Account] = OrderedDict()
        self._lock = threading.Lock()
        renewed.add(self)

    def renew(self) -> None:
        """In a forked child: what was spent stays spent, and what the parent's calls have reserved is theirs."""
        self._lock = threading.Lock()
        for account in list(self._accounts.values()):
            account.held = {}

    def reserve(
        self,
        account: str,
        reservation: str,
        amounts: Amounts,
        caps: Caps,
        lease_s: float,  # noqa: ARG002 - it ends with the process
        until: float | None,
    ) -> Standing:
        now = self._clock()
        with self._lock:
            found = self._of(account, until, now)
            others = _sum(found, but=reservation)
            granted = caps.allow(found.spent + others + amounts)
            if granted:
                found.held[reservation] = amounts
            return Standing(found.spent, _sum(found), granted=granted)

    def settle(
        self, account: str, reservation: str, amounts: Amounts, until: float | None, *, again: bool = False
    ) -> Standing:
        now = self._clock()
        with self._lock:
            is_new = account not in self._accounts
            found = self._of(account, until, now)
            is_known = reservation in found.held
            if is_known or is_new or not again:
                spent = found.spent + amounts
                # Nothing is called in between, so that an interrupt comes either before or after.
                if is_known:
                    del found.held[reservation]
                found.spent = spent
            return Standing(found.spent, _sum(found))

    def extend(self, account: str, reservation: str, lease_s: float) -> None:
        """Do nothing: what is in memory ends with the process, and never before."""

    def standing(self, account: str) -> Standing:
        with self._lock:
            found = self._accounts.get(account)
            return Standing() if found is None else Standing(found.spent, _sum(found))

    def close(self) -> None:
        """Do nothing: what is in memory stays there."""

    def _of(self, name: str, until: float | None, now: float) -> _Account:
        account = self._accounts.get(name)
        if account is None:
            self._forget(now)
            account = self._accounts[name] = _Account(until)
        else:
            account.until = until
            self._accounts.move_to_end(name)
        return account

    def _forget(self, now: float) -> None:
        """Forget accounts whose time is over, and others if there are too many."""
        for _ in range(2):  # two for each that is added, so that there are ever fewer
            name, account = next(iter(self._accounts.items()), ("", None))
            if account is None:
                return
            if account.until is None or account.held:
                self._accounts.move_to_end(name)
            elif account.until + MARGIN_S < now or len(self._accounts) >= MOST_ACCOUNTS:
                del self._accounts[name]


def _sum(account: _Account, but: str = "") -> Amounts:
    total = Amounts()
    for name, amounts in account.held.items():
        if name != but:
            total += amounts
    return total
