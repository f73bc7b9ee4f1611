"""What one run has done so far."""

from collections import OrderedDict, deque
from typing import NamedTuple

from spanhook.hooks.loop_guard._config import Config
from spanhook.hooks.loop_guard._digests import Digest

MOST_CALLS = 1000
"""How many different calls of a run are remembered: those that were made last."""


class _Call:
    """Calls of one tool with the same arguments.

    Attributes:
        made: How many there were; if results are compared, how many have had the last result in a row.
        under_way: How many of them have not ended.
        result: The last result, if results are compared.
    """

    __slots__ = ("made", "result", "under_way")

    def __init__(self) -> None:
        self.made = self.under_way = 0
        self.result: Digest | None = None


class Loop(NamedTuple):
    """A call that would repeat others.

    Attributes:
        calls: How many calls the pattern has; 0 if the same call was made too often, at any time in the run.
        times: How often it was made already.
    """

    calls: int
    times: int


class Run:
    """The calls of one run. Its users hold a lock.

    Attributes:
        tool_calls, llm_calls: How many there were.
        strikes: How many were refused.
    """

    __slots__ = (
        "_calls",
        "_cycles",
        "_period",
        "_recent",
        "_repeats",
        "_results",
        "llm_calls",
        "strikes",
        "tool_calls",
    )

    def __init__(self, config: Config) -> None:
        self.tool_calls = self.llm_calls = self.strikes = 0
        self._repeats, self._cycles, self._period = config.repeats, config.cycles, config.period
        self._results = config.same_result
        self._calls: OrderedDict[Digest, _Call] = OrderedDict()
        self._recent: deque[Digest] = deque(maxlen=config.period * (config.cycles or 1))

    def begin(self, call: Digest) -> Loop | None:
        """Note a call, unless it repeats others; returns what it repeats."""
        calls = self._calls
        known = calls.get(call)
        if known is None:
            known = calls[call] = _Call()
            if len(calls) > MOST_CALLS:
                calls.popitem(last=False)
        else:
            calls.move_to_end(call)
            loop = self._loop(call, known)
            if loop is not None:
                return loop
        known.under_way += 1
        if not self._results:
            known.made += 1
        self._recent.append(call)
        return None

    def end(self, call: Digest, result: Digest | None) -> None:
        """Note that a call has ended, with this result if results are compared."""
        known = self._calls.get(call)
        if known is None:
            return
        known.under_way -= 1
        if self._results:
            known.made = known.made + 1 if result == known.result else 1
            known.result = result

    def undo(self, call: Digest) -> None:
        """The call is not made, or will be made once more for the same reason."""
        known = self._calls.get(call)
        if known is not None:
            known.under_way -= 1
            if not self._results:
                known.made -= 1
        for index in range(len(self._recent) - 1, -1, -1):
            if self._recent[index] == call:
                del self._recent[index]
                return

    def _loop(self, call: Digest, known: _Call) -> Loop | None:
        times = self._times(known)
        if self._repeats is not None and times >= self._repeats:
            return Loop(0, times)
        cycles = self._cycles
        if cycles is None:
            return None
        recent = self._recent
        for period in range(1, self._period + 1):
            length = period * cycles
            if len(recent) < length:
                return None
            last = list(recent)[-length:]
            if last[0] != call or any(last[index] != last[index - period] for index in range(period, length)):
                continue
            if not self._results or all(self._times(self._calls.get(one)) >= cycles for one in last[:period]):
                return Loop(period, cycles)
        return None

    def _times(self, known: _Call | None) -> int:
        if known is None:
            return 0
        return known.made + known.under_way if self._results else known.made
