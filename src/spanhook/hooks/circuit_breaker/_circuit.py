"""One circuit: closed while calls pass, open while they are refused, half-open while a few are tried."""

from collections import deque
from typing import NamedTuple

_SLICES = 10


class Rules(NamedTuple):
    """When a circuit opens and closes; see ``Config``."""

    failures: int | None
    failure_rate: float | None
    window: float
    min_calls: int
    open_for: float
    probes: int


class Permit:
    """A call that was let through.

    Attributes:
        circuit: What let it through.
        period: In which of its periods, which are between two changes of its state.
    """

    __slots__ = ("circuit", "period")

    def __init__(self, circuit: "Circuit") -> None:
        self.circuit, self.period = circuit, circuit.period


class Circuit:
    """What is known of one target. Its users hold a lock.

    Args:
        rules: When it opens and closes.
        target: What it is about.

    Attributes:
        period: The number of changes of its state so far. What comes of calls from earlier periods is ignored.
        is_open: Whether calls are refused, except for those that are tried.
    """

    def __init__(self, rules: Rules, target: str) -> None:
        self.target = target
        self.period = 0
        self.is_open = False
        self._rules = rules
        self._until = 0.0
        self._trying: dict[Permit, float] = {}
        self._passed = 0
        self._in_a_row = 0
        self._window = _Window(rules.window)

    @property
    def is_new(self) -> bool:
        """Whether forgetting it would lose nothing."""
        return not self.is_open and not self._in_a_row and not self._window

    def ask(self, now: float) -> Permit | float:
        """Let a call through, or say in how many seconds it may be tried again."""
        if not self.is_open:
            return Permit(self)
        if now < self._until:
            return self._until - now
        rules = self._rules
        for permit, began in list(self._trying.items()):
            if began + rules.open_for <= now:  # it may never end, and must not keep others from being tried
                del self._trying[permit]
        if len(self._trying) + self._passed >= rules.probes:
            return min(self._trying.values()) + rules.open_for - now
        permit = Permit(self)
        self._trying[permit] = now
        return permit

    def release(self, permit: Permit) -> None:
        """The call was not made, or nothing follows from how it ended."""
        self._trying.pop(permit, None)

    def note(self, permit: Permit, failed: bool, now: float) -> bool:
        """Note how a call ended. Returns whether the circuit has opened or closed."""
        if permit.period != self.period:
            return False
        if self.is_open:
            if self._trying.pop(permit, None) is None:
                return False
            if failed:
                self._open(now)
                return False
            self._passed += 1
            if self._passed < self._rules.probes:
                return False
            self._close()
            return True
        self._in_a_row = self._in_a_row + 1 if failed else 0
        if self._rules.failure_rate is not None:
            self._window.add(now, failed)
        if failed and self._has_to_open(now):
            self._open(now)
            return True
        return False

    def _has_to_open(self, now: float) -> bool:
        rules = self._rules
        if rules.failures is not None and self._in_a_row >= rules.failures:
            return True
        if rules.failure_rate is None:
            return False
        calls, failures = self._window.totals(now)
        return calls >= rules.min_calls and failures >= rules.failure_rate * calls

    def _open(self, now: float) -> None:
        self.period += 1
        self.is_open, self._until = True, now + self._rules.open_for
        self._trying, self._passed = {}, 0

    def _close(self) -> None:
        self.period += 1
        self.is_open = False
        self._trying, self._passed, self._in_a_row = {}, 0, 0
        self._window = _Window(self._rules.window)


class _Window:
    """Calls and failures of the last seconds, in slices of a tenth of them."""

    def __init__(self, seconds: float) -> None:
        self._slice = seconds / _SLICES
        self._slices: deque[list[int]] = deque(maxlen=_SLICES)

    def __bool__(self) -> bool:
        return bool(self._slices)

    def add(self, now: float, failed: bool) -> None:
        number = int(now / self._slice)
        if not self._slices or self._slices[-1][0] != number:
            self._slices.append([number, 0, 0])
        last = self._slices[-1]
        last[1] += 1
        last[2] += failed

    def totals(self, now: float) -> tuple[int, int]:
        first = int(now / self._slice) - _SLICES + 1
        kept = [one for one in self._slices if one[0] >= first]
        return sum(one[1] for one in kept), sum(one[2] for one in kept)
