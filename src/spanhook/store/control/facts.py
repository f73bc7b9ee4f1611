"""What telemetry says of runs, before it is written: plain data, free of databases and of OTLP."""

from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from spanhook.store.control.columns import clean

LONGEST = 128
"""Characters of an id or a name in an index; PostgreSQL refuses rows of indexes above 2,704 bytes."""
_KEPT, _MARK = 110, 16
NO_SPAN = b""


def short(text: str) -> str:
    """A text that fits into an index: a longer one ends in a hash of all of it, so that no two become the same."""
    if len(text) > LONGEST:
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=_MARK // 2).hexdigest()
        text = f"{text[:_KEPT]}~{digest}"
    return clean(text) if "\0" in text or not text.isascii() else text


name = lru_cache(8192)(short)
"""``short`` for texts that come again and again, which are then one object."""

MOST_USED = 4 * 10**18
"""Where sums stop; twice as much is still a number that a column holds."""


class Used(NamedTuple):
    """Calls, tokens, and cost in billionths of a US dollar."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    unpriced_tokens: int = 0
    cost_nano: int = 0

    def plus(self, other: "Used") -> "Used":
        """The sum of both."""
        a, b, c, d, e, f, g, h = self
        a1, b1, c1, d1, e1, f1, g1, h1 = other
        return Used(a + a1, b + b1, c + c1, d + d1, e + e1, f + f1, g + g1, h + h1)

    def minus(self, other: "Used") -> "Used":
        """The difference of both."""
        return Used(*(one - two for one, two in zip(self, other, strict=True)))

    def saturated(self) -> "Used":
        """The same, with numbers that a column holds."""
        if max(self) <= MOST_USED and min(self) >= -MOST_USED:
            return self
        return Used(*(max(-MOST_USED, min(MOST_USED, one)) for one in self))


NOTHING = Used()
UsageKey = tuple[int, str, str, str, str]
"""Day since the epoch, tenant, user, agent, model."""
RunKey = tuple[str, str]
"""Owner and run id."""


class SpanFacts(NamedTuple):
    """What one span says of its run."""

    run: RunKey
    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    remote: bool
    start_ns: int
    end_ns: int
    tenant_id: str
    user_id: str
    session_id: str
    agent: str
    service: str
    name: str
    kind: str
    status: str
    error_type: str
    model: str
    used: Used | None
    llm_calls: int
    tool_calls: int


class RunEvent(NamedTuple):
    """What the log event of a run says, which stands above what its spans say."""

    run: RunKey
    trace_id: bytes
    span_id: bytes
    time_ns: int
    duration_ns: int
    tenant_id: str
    user_id: str
    session_id: str
    agent: str
    service: str
    name: str
    kind: str
    status: str
    error_type: str
    llm_calls: int
    tool_calls: int
    by_model: dict[str, Used]


class DecisionFacts(NamedTuple):
    """One decision; ``full`` if it is from a log event, which says more than a span's."""

    key: bytes
    full: bool
    owner: str
    tenant_id: str
    run_id: str
    trace_id: bytes
    span_id: bytes
    hook: str
    event_type: str
    decision: str
    reason: str
    mode: str
    fail_mode: str
    coverage: str
    kind: str
    target: str
    agent: str
    user_id: str
    status_code: int
    elapsed_ns: int
    time_ns: int


Row = tuple[Any, ...]


def _spans() -> list[tuple[Row, SpanFacts | None]]:
    return []


@dataclass(slots=True)
class Batch:
    """One request, ready to be written.

    Attributes:
        spans: Rows of spans, each with what it says of its run.
        logs, metrics: Rows of these.
        resources: Rows of the resources that they are of, by digest.
        events: Runs that have ended.
        decisions: Decisions, from either signal.
        received: Records that it had.
        rejected: How many of them cannot be kept.
        complaint: Why.
        size: Bytes that it takes in memory, roughly.
    """

    spans: list[tuple[Row, SpanFacts | None]] = field(default_factory=_spans)
    logs: list[Row] = field(default_factory=list[Row])
    metrics: list[Row] = field(default_factory=list[Row])
    resources: dict[bytes, Row] = field(default_factory=dict[bytes, Row])
    events: list[RunEvent] = field(default_factory=list[RunEvent])
    decisions: list[DecisionFacts] = field(default_factory=list[DecisionFacts])
    received: int = 0
    rejected: int = 0
    complaint: str = ""
    size: int = 0

    def reject(self, complaint: str) -> None:
        """Count a record that cannot be kept."""
        self.rejected += 1
        self.complaint = self.complaint or complaint
