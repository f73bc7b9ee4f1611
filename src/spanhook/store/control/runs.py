"""Runs: a page of those that a filter lets through, and one with its spans and log records."""

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from spanhook.store.control.database import Database
from spanhook.store.control.facts import Used, short
from spanhook.store.control.paging import Page, page
from spanhook.store.control.run_filters import LIVE_NS, RunFilter, rows_of
from spanhook.store.control.stored import StoredLog, StoredSpan, log_of, span_of
from spanhook.store.control.tables import logs, resources, runs, spans

MOST_SPANS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run.

    Attributes:
        id: Its id, as in ``spanhook.run.id``.
        trace_id: Its trace, in hexadecimal.
        root_id: Its outermost span, in hexadecimal.
        tenant_id, user_id, session_id, agent: Whose it is.
        service: The service that it ran in.
        name: Of its outermost span, or what it worked on.
        kind: Of its outermost operation.
        status: How it ended; ``running`` while it does.
        error_type: The error that it ended with.
        start_ns, end_ns: When it ran; the end of one that is running is what is known so far.
        spans, decisions: How many of them are known.
        llm_calls, tool_calls: How many there were.
        input_tokens, output_tokens, unpriced_tokens: Tokens, and those without a price.
        cost_usd: What it cost; ``None`` if nothing of it has a price.
        by_model: The same by model.
        told: Whether the totals are those of its log event; otherwise they are sums over its spans.
    """

    id: str
    trace_id: str
    root_id: str
    tenant_id: str
    user_id: str
    session_id: str
    agent: str
    service: str
    name: str
    kind: str
    status: str
    error_type: str
    start_ns: int
    end_ns: int
    spans: int
    decisions: int
    llm_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    unpriced_tokens: int
    cost_usd: float | None
    by_model: dict[str, Used]
    told: bool

    @property
    def duration_s(self) -> float:
        """How long it took, in seconds."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with what is in its trace.

    Attributes:
        run: The run.
        spans: The spans of its trace, by their start; those of other instrumentations and of other runs too.
        logs: The log records of its trace.
        more: Whether there are more spans or log records than are given.
    """

    run: Run
    spans: tuple[StoredSpan, ...]
    logs: tuple[StoredLog, ...]
    more: bool


async def runs_page(
    database: Database, tenant: str | None, given: RunFilter, *, cursor: str = "", limit: int = 50
) -> Page[Run]:
    """A page of runs, the latest first.

    Args:
        database: Where they are.
        tenant: Whose may be seen; ``None`` for all.
        given: Which to show.
        cursor: What came with the page before.
        limit: How many, up to 1,000.

    Raises:
        CursorError: The cursor is none.
        StoreError: The database cannot be used now.
    """
    async with database.reading() as connection:
        rows = await rows_of(connection, tenant, given, cursor, limit)
    now_ns = time.time_ns()
    return page([_run(row, now_ns) for row in rows], [(row.start_ns, row.id) for row in rows], limit)


async def run_detail(database: Database, tenant: str | None, run_id: str) -> RunDetail | None:
    """One run with the spans and log records of its trace; ``None`` if there is none that may be seen.

    Args:
        database: Where it is.
        tenant: Whose may be seen; ``None`` for all.
        run_id: Its id.

    Raises:
        StoreError: The database cannot be used now.
    """
    query = select(runs).where(runs.c.run_id == short(run_id)).order_by(runs.c.start_ns.desc()).limit(1)
    if tenant is not None:
        query = query.where(runs.c.tenant_id == tenant)
    async with database.reading() as connection:
        row = (await connection.execute(query)).first()
        if row is None:
            return None
        found: list[Any] = []
        for table, time_ns in ((spans, spans.c.start_ns), (logs, logs.c.time_ns)):
            of_trace = (
                select(table, resources.c.data.label("resource_data"))
                .join(resources, resources.c.digest == table.c.resource, isouter=True)
                .where(table.c.trace_id == row.trace_id, table.c.owner == row.owner)
            )
            if tenant is not None:  # spans without a tenant are those of other instrumentations around its run
                of_trace = of_trace.where(table.c.tenant_id.in_((tenant, "")))
            found.append((await connection.execute(of_trace.order_by(time_ns).limit(MOST_SPANS + 1))).all())
    ours, told = found
    return RunDetail(
        _run(row, time.time_ns()),
        tuple(map(span_of, ours[:MOST_SPANS])),
        tuple(map(log_of, told[:MOST_SPANS])),
        max(len(ours), len(told)) > MOST_SPANS,
    )


def _run(row: Any, now_ns: int) -> Run:
    kept: dict[str, list[int]] = row.by_model or {}
    by_model = {model: Used(*used) for model, used in kept.items()}
    total = row.input_tokens + row.output_tokens
    live = not row.ended and now_ns - row.updated_ns < LIVE_NS
    return Run(
        id=row.run_id,
        trace_id=row.trace_id.hex(),
        root_id=row.root_id.hex(),
        tenant_id=row.tenant_id,
        user_id=row.user_id,
        session_id=row.session_id,
        agent=row.agent,
        service=row.service,
        name=row.name,
        kind=row.kind,
        status="running" if live else row.status,
        error_type=row.error_type,
        start_ns=row.start_ns,
        end_ns=row.end_ns,
        spans=row.spans,
        decisions=row.decisions,
        llm_calls=row.llm_calls,
        tool_calls=row.tool_calls,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        unpriced_tokens=row.unpriced_tokens,
        cost_usd=None if total and row.unpriced_tokens >= total else row.cost_nano / 1e9,
        by_model=by_model,
        told=row.told,
    )
