"""What a replay cannot tell about a budget: what calls used that were counted as what was reserved for them."""

from collections.abc import Callable

from spanhook.gating import Charge
from spanhook.model import Usage
from spanhook.store import Amounts, Caps, Standing


class Uncertainty:
    """How far the accounts of a replayed budget may be above what was used.

    Args:
        unknown: Called if a refusal depends on it.
    """

    def __init__(self, unknown: Callable[[str], object]) -> None:
        self._unknown = unknown
        self._excess: dict[str, Amounts] = {}

    def add(self, account: str, settled: Charge, used: Usage | None) -> None:
        """A call was counted as what was reserved for it.

        Args:
            account: The name of the account.
            settled: What it counts as.
            used: Its count, as far as there is one.
        """
        tokens = settled.tokens - (0 if used is None else used.total_tokens)
        nano = settled.nano - (0 if used is None else used.cost_nano or 0)
        self._excess[account] = self._excess.get(account, Amounts()) + Amounts(tokens, nano)

    def check(self, account: str, standing: Standing, more: Amounts, caps: Caps) -> None:
        """A call is refused: see whether it would be, too, if calls had used no more than their counts.

        Args:
            account: The name of the account.
            standing: The account as it is.
            more: What the call would reserve, beyond what it has reserved already.
            caps: The limits.
        """
        excess = self._excess.get(account, Amounts())
        least = standing.spent + standing.reserved + more
        if caps.allow(Amounts(least.tokens - excess.tokens, least.nano - excess.nano)):
            self._unknown("how much calls used whose usage was not reported")
