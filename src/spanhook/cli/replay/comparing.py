"""Compares what hooks decide now with what was decided when it was recorded."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from spanhook.cli.replay.outcomes import UNKNOWN, Decision, Outcome

Verdict = Literal["same", "differs", "unknown"]
_BY_TIME = frozenset(("timeout", "skipped"))
"""Decisions that depend on how long hooks took, which is not replayed."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What one hook did about one operation at one event, then and now.

    Attributes:
        then, now: Its decisions; empty for ``allow``.
        verdict: ``unknown`` if the replay cannot tell.
    """

    outcome: Outcome
    hook: str
    event: str
    then: tuple[Decision, ...]
    now: tuple[Decision, ...]
    verdict: Verdict


def compared(outcomes: Iterable[Outcome]) -> Iterator[Compared]:
    """Everything that was decided then or is decided now, by hooks that are not in shadow mode.

    What would not have happened is left out: the decision that prevents it is there.
    """
    for outcome in outcomes:
        if not outcome.unreached:
            yield from _of(outcome)


def _of(outcome: Outcome) -> Iterator[Compared]:
    now = [one for one in outcome.now if one.mode == "enforce"]
    then = [_placed(one, now) for one in outcome.then]
    for hook, event in dict.fromkeys((one.hook, one.event) for one in (*then, *now)):
        before = _by(then, hook, event)
        after = _by(now, hook, event)
        yield Compared(outcome, hook, event, before, after, _verdict(before, after))


def _placed(decision: Decision, now: Iterable[Decision]) -> Decision:
    """A decision with its event; if only the hook is recorded, that of its decision now."""
    if decision.event:
        return decision
    event = next((one.event for one in now if one.hook == decision.hook), "")
    return Decision(decision.hook, event, decision.decision, decision.reason, decision.mode)


def _by(decisions: Iterable[Decision], hook: str, event: str) -> tuple[Decision, ...]:
    return tuple(one for one in decisions if (one.hook, one.event) == (hook, event))


def _verdict(then: Sequence[Decision], now: Sequence[Decision]) -> Verdict:
    if any(one.decision == UNKNOWN for one in now):
        return "unknown"
    if [one.decision for one in then] == [one.decision for one in now]:
        return "same"
    return "unknown" if any(one.decision in _BY_TIME for one in (*then, *now)) else "differs"
