"""Runs, decisions and usage as JSON."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from spanhook.server.routes.hook_models import time_of
from spanhook.store.control import Run, RunDetail, StoredDecision, StoredLog, StoredSpan, UsageRow, Used

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EPOCH = date(1970, 1, 1)
_MOST = 2**63 - 1


def _written(given: Any) -> Any:
    if isinstance(given, str) and not _DATE.match(given):
        raise ValueError("expected a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z")
    return given


Time = Annotated[datetime, BeforeValidator(_written)]
"""A time as RFC 3339 writes it; numbers are none."""
Day = Annotated[date, BeforeValidator(_written)]
"""A day as RFC 3339 writes it."""


class Usage(BaseModel):
    """Tokens and cost."""

    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    unpriced_tokens: int = Field(description="Tokens of models without a price, which cost_usd lacks.")
    cost_usd: float

    @classmethod
    def of(cls, used: Used) -> "Usage":
        """What is shown of usage."""
        fields = {name: value for name, value in used._asdict().items() if name in cls.model_fields}
        return cls(**fields, cost_usd=used.cost_nano / 1e9)


class RunSummary(BaseModel):
    """A run."""

    id: str
    trace_id: str
    tenant_id: str
    user_id: str
    session_id: str
    agent: str
    service: str
    name: str
    kind: str
    status: str = Field(description="How it ended; running while it does.")
    error_type: str
    start: datetime
    end: datetime
    duration_s: float
    spans: int
    decisions: int
    llm_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    unpriced_tokens: int
    cost_usd: float | None = Field(description="null if nothing of it has a price.")
    by_model: dict[str, Usage]

    @classmethod
    def of(cls, run: Run) -> "RunSummary":
        """What is shown of a run."""
        own = ("start", "end", "by_model")
        fields = {name: getattr(run, name) for name in cls.model_fields if name not in own}
        by_model = {model: Usage.of(used) for model, used in run.by_model.items()}
        return cls(**fields, start=time_of(run.start_ns), end=time_of(run.end_ns), by_model=by_model)


class RunPage(BaseModel):
    """Some runs, the latest first."""

    runs: list[RunSummary]
    next_cursor: str = Field(description="Of the next page; empty if this is the last.")


class SpanEvent(BaseModel):
    """An event of a span."""

    name: str
    time: datetime
    attributes: dict[str, Any]


class Span(BaseModel):
    """A span of a run's trace."""

    span_id: str
    parent_id: str
    run_id: str
    kind: str
    status: str
    name: str
    scope: str
    start: datetime
    end: datetime
    attributes: dict[str, Any]
    events: list[SpanEvent]
    failed: bool
    message: str

    @classmethod
    def of(cls, span: StoredSpan) -> "Span":
        """What is shown of a span."""
        own = ("start", "end", "events")
        fields = {name: getattr(span, name) for name in cls.model_fields if name not in own}
        events = [SpanEvent(name=one.name, time=time_of(one.time_ns), attributes=one.attributes) for one in span.events]
        return cls(**fields, start=time_of(span.start_ns), end=time_of(span.end_ns), events=events)


class LogRecord(BaseModel):
    """A log record of a run's trace."""

    span_id: str
    event_name: str
    severity: int
    time: datetime
    attributes: dict[str, Any]
    body: Any

    @classmethod
    def of(cls, log: StoredLog) -> "LogRecord":
        """What is shown of a log record."""
        fields = {name: getattr(log, name) for name in cls.model_fields if name != "time"}
        return cls(**fields, time=time_of(log.time_ns))


class RunWithTrace(BaseModel):
    """A run, and what is in its trace."""

    run: RunSummary
    spans: list[Span] = Field(description="By their start; those of other instrumentations too.")
    logs: list[LogRecord]
    more: bool = Field(description="Whether there are more spans or log records than these.")

    @classmethod
    def of(cls, detail: RunDetail) -> "RunWithTrace":
        """What is shown of a run's trace."""
        return cls(
            run=RunSummary.of(detail.run),
            spans=[Span.of(one) for one in detail.spans],
            logs=[LogRecord.of(one) for one in detail.logs],
            more=detail.more,
        )


class Decision(BaseModel):
    """A decision of a hook."""

    id: int
    tenant_id: str
    run_id: str
    trace_id: str
    span_id: str
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
    elapsed_ms: float
    time: datetime

    @classmethod
    def of(cls, one: StoredDecision) -> "Decision":
        """What is shown of a decision."""
        fields = {name: getattr(one, name) for name in cls.model_fields if name not in ("elapsed_ms", "time")}
        return cls(**fields, elapsed_ms=one.elapsed_ns / 1e6, time=time_of(one.time_ns))


class DecisionPage(BaseModel):
    """Some decisions, the latest first."""

    decisions: list[Decision]
    next_cursor: str


class UsageGroup(Usage):
    """Usage of one group; what it is not grouped by is null."""

    day: date | None = None
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    model: str | None = None

    @classmethod
    def of_row(cls, row: UsageRow) -> "UsageGroup":
        """What is shown of a group."""
        by = {name.removesuffix("_id"): value for name, value in row.by.items()}
        if "day" in by:
            by["day"] = _EPOCH + timedelta(days=by["day"])
        return cls(**Usage.of(row.used).model_dump(), **by)


class UsageTable(BaseModel):
    """Usage in groups: by day the earliest first, otherwise the most expensive first."""

    usage: list[UsageGroup]


def ns_of(time: datetime | None) -> int:
    """A time in nanoseconds since the epoch, UTC unless it says otherwise; 0 for none."""
    if time is None:
        return 0
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return min(_MOST, max(0, round((aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e6) * 1000))


def day_of(day: date | None, *, after: int = 0) -> int:
    """A day as a number since the epoch; 0 for none."""
    return 0 if day is None else max(0, (day - _EPOCH).days + after)
