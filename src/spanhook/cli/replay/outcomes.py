"""What hooks decide about one recorded operation now, and what was decided then."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spanhook import semconv
from spanhook.cli.replay.otlp import RecordedSpan

UNKNOWN = "unknown"
_REFUSALS = ("reject", "attempted", "timeout", "error")


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision of one hook.

    Attributes:
        event: Kind and phase; empty if only the hook is recorded.
        decision: One of the words for decisions, or ``unknown``: the hook has read what is not recorded.
        reason: Why; for ``unknown``, what the hook has read.
        mode: ``enforce`` or ``shadow``.
    """

    hook: str
    event: str
    decision: str
    reason: str = ""
    mode: str = "enforce"


@dataclass(slots=True)
class Outcome:
    """One recorded operation.

    Attributes:
        then: What was decided when it was recorded, except ``allow``.
        now: What is decided now, except ``allow``; also what hooks in shadow mode would decide.
        unreached: Why it would not have happened, so that no hook was asked; empty if it would have.
        unended: Hooks let it pass now that was refused then, so how it would have gone on is not known.
    """

    span: RecordedSpan
    kind: str
    name: str
    then: tuple[Decision, ...]
    now: list[Decision] = field(default_factory=list[Decision])
    unreached: str = ""
    unended: bool = False

    def is_unknown(self, hook: str, event: str) -> bool:
        """Whether the hook's decision about it is unknown."""
        return any((one.hook, one.event, one.decision) == (hook, event, UNKNOWN) for one in self.now)


def recorded_decisions(span: RecordedSpan) -> tuple[Decision, ...]:
    """The decisions on a span: those of its events, or else the one of its attributes."""
    found = tuple(
        Decision(
            _text(one.attributes, semconv.HOOK),
            _text(one.attributes, semconv.EVENT),
            _text(one.attributes, semconv.DECISION),
            _text(one.attributes, semconv.DECISION_REASON),
        )
        for one in span.events
        if one.name == semconv.EVENT_DECISION
    )
    if found or semconv.DECISION not in span.attributes:
        return found
    names = (semconv.DECISION_HOOK, semconv.DECISION, semconv.DECISION_REASON)
    hook, decision, reason = (_text(span.attributes, name) for name in names)
    return (Decision(hook, "", decision, reason),)


def _text(found: Mapping[str, Any], name: str) -> str:
    return str(found.get(name, ""))


def refusal(outcome: Outcome, hook: str = "", phase: str = "") -> Decision | None:
    """The decision by which an operation was refused then.

    Args:
        outcome: The operation.
        hook: Only if it was this hook's.
        phase: Only if it was in this phase.
    """
    if outcome.span.attributes.get(semconv.STATUS) != "rejected":
        return None
    decisive = _text(outcome.span.attributes, semconv.DECISION_HOOK)
    for one in reversed(outcome.then):
        if one.decision in _REFUSALS and one.hook == decisive:
            fits = (not hook or one.hook == hook) and (not phase or not one.event or one.event.endswith(f".{phase}"))
            return one if fits else None
    return None
