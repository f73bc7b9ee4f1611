"""The document that ``spanhook replay --json`` prints."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypedDict

from spanhook import semconv
from spanhook.cli.replay.comparing import Compared, compared
from spanhook.cli.replay.otlp import Read
from spanhook.cli.replay.outcomes import Decision, Outcome


class Whose(TypedDict):
    """Which operation it is."""

    time: str
    trace_id: str
    span_id: str
    kind: str
    name: str
    tenant_id: str
    user_id: str
    session_id: str


class Decided(Whose):
    """What a hook decides about an operation."""

    hook: str
    event: str
    decision: str
    reason: str
    mode: str


class Unreached(Whose):
    """An operation that would not have happened."""

    reason: str


class Said(TypedDict):
    """A decision without what it is about."""

    decision: str
    reason: str


class Difference(Whose):
    """What a hook decided then and decides now; no decisions mean ``allow``."""

    hook: str
    event: str
    then: list[Said]
    now: list[Said]
    verdict: str


class Count(TypedDict):
    """How often a hook has decided so."""

    hook: str
    decision: str
    mode: str
    count: int


class Comparison(TypedDict):
    """How what was decided then compares with what is decided now."""

    same: int
    differs: int
    unknown: int
    decisions: list[Difference]


class Document(TypedDict):
    """What a replay has found."""

    lines: int
    skipped_lines: int
    broken_lines: list[str]
    spans: int
    operations: int
    made_by_hooks: int
    without_parent: int
    not_recorded_further: int
    decisions: list[Decided]
    unreached: list[Unreached]
    summary: list[Count]
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Totals:
    """What a replay was made of.

    Attributes:
        read: What was read.
        in_hook: How many calls hooks made.
        orphans: How many operations have a parent that is not recorded.
    """

    read: Read
    in_hook: int
    orphans: int


def document(totals: Totals, outcomes: Sequence[Outcome], *, compare: bool) -> Document:
    """Everything that a replay has found."""
    decided = [(one, decision) for one in outcomes for decision in one.now]
    counts = Counter((decision.hook, decision.decision, decision.mode) for _, decision in decided)
    return Document(
        lines=totals.read.lines,
        skipped_lines=totals.read.skipped,
        broken_lines=totals.read.broken,
        spans=len(totals.read.spans),
        operations=len(outcomes),
        made_by_hooks=totals.in_hook,
        without_parent=totals.orphans,
        not_recorded_further=sum(one.unended for one in outcomes),
        decisions=[_decided(one, decision) for one, decision in decided],
        unreached=[Unreached(**_whose(one), reason=one.unreached) for one in outcomes if one.unreached],
        summary=[
            Count(hook=hook, decision=decision, mode=mode, count=count)
            for (hook, decision, mode), count in sorted(counts.items())
        ],
        comparison=_comparison(compared(outcomes)) if compare else None,
    )


def _comparison(found: Iterable[Compared]) -> Comparison:
    rows = list(found)
    counts = Counter(one.verdict for one in rows)
    return Comparison(
        same=counts["same"],
        differs=counts["differs"],
        unknown=counts["unknown"],
        decisions=[
            Difference(
                **_whose(one.outcome),
                hook=one.hook,
                event=one.event,
                then=_said(one.then),
                now=_said(one.now),
                verdict=one.verdict,
            )
            for one in rows
        ],
    )


def _said(decisions: Iterable[Decision]) -> list[Said]:
    return [Said(decision=one.decision, reason=one.reason) for one in decisions]


def _decided(outcome: Outcome, decision: Decision) -> Decided:
    return Decided(
        **_whose(outcome),
        hook=decision.hook,
        event=decision.event,
        decision=decision.decision,
        reason=decision.reason,
        mode=decision.mode,
    )


def _whose(outcome: Outcome) -> Whose:
    span = outcome.span
    tenant, user, session = (
        str(span.attributes.get(name, "")) for name in (semconv.TENANT_ID, semconv.USER_ID, semconv.SESSION_ID)
    )
    began = datetime.fromtimestamp(span.start_ns / 1e9, UTC)
    return Whose(
        time=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        trace_id=span.trace_id,
        span_id=span.span_id,
        kind=outcome.kind,
        name=outcome.name,
        tenant_id=tenant,
        user_id=user,
        session_id=session,
    )
