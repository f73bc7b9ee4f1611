"""The totals of a load as a document, against which dashboards, collectors and backends are checked.

``totals`` has the sums by dimension, for people; ``metrics`` has the same as every series that spanhook's instruments
must export, with its attributes, so that the result of any query can be computed from it. Both come only from the
script and depend on its seed, its number of runs, the price list and whether foreign spans can be created; not on
concurrency, sampling or providers. Durations are left out: they depend on the machine.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from spanhook.cli.load.catalogue import RUN_BUDGET
from spanhook.cli.load.series import Series
from spanhook.cli.load.tables import COLUMNS, MEASURED, Tables
from spanhook.model import NANO
from spanhook.telemetry import BUCKETS

MOST_EXPENSIVE = 10
"""How many of the most expensive runs are listed."""

# ----------------------------------------------------------------------------------------------- types


class Money(TypedDict):
    """An amount in US dollars: exact, to the nano-dollar, and as the nearest float."""

    usd: str
    usd_float: float


class Spent(TypedDict):
    """The usage of a group of runs, including nested agents and models called by hooks.

    ``tokens`` is by bucket; the buckets are disjoint and add up to ``total_tokens``. ``cost`` leaves out models
    without a known price.
    """

    runs: int
    llm_calls: int
    tool_calls: int
    tokens: dict[str, int]
    total_tokens: int
    cost: Money


class Expensive(TypedDict):
    """One of the most expensive runs."""

    agent: str
    status: str
    tenant: str
    user: str
    cost: Money


class Charged(TypedDict):
    """What runs used of their budgets: in total, and the largest share that one of them used of its tokens."""

    runs: int
    tokens: int
    cost: Money
    highest_share: float


class Totals(TypedDict):
    """All totals, by dimension.

    Attributes:
        runs: Outermost operations: one ``spanhook.run`` event each.
        runs_by_status: By ``spanhook.status``.
        runs_by_agent: By agent, then by status.
        llm_calls, tool_calls: Calls that were made, not refused or answered by a hook.
        tokens: By answering model, then by bucket.
        cost, total_cost: By answering model, and in total, without models that have no price.
        unpriced_tokens: Tokens of models without a known price, by model.
        by_agent, by_tenant, by_user: Usage of runs; an agent's runs are those in which it was outermost.
        most_expensive: The most expensive runs, in descending order.
        agents: Agent operations, nested ones included, by name, then by status.
        tools: Tool operations by name, then by status.
        model_calls_by_provider: Model operations, without foreign ones, whether or not they were made.
        model_calls: Model operations, without foreign ones, by requested model, then by ``error.type``, which is empty
            if they did not fail.
        decisions: By hook, event and decision, ``allow`` included; without hooks in shadow mode.
        shadow_decisions: The same for hooks in shadow mode: what they would have done. ``events`` counts both.
        budgets: What runs used of their budgets, by hook.
        approvals: Requests for approval, by hook and outcome; some stay without an answer.
        verdicts: Questions of remote policies, by hook and verdict; ``error``: the service has not decided.
        guardrail_spans: How often remote policies asked, by hook: each attempt is a span ``apply_guardrail``.
        coverage: Decisions by coverage.
        errors: Operations that failed, were refused or cancelled: by ``error.type``, then by kind.
        streams: Streamed model calls by status.
        first_chunks: Streamed model calls whose first chunk arrived.
        spans: Spans that spanhook opens, by kind.
        foreign_spans: Operations whose span another instrumentation opened, by kind; these spans are not exported.
        events: Log events by name; one for each decision other than ``allow``, in shadow mode too.
    """

    runs: int
    runs_by_status: dict[str, int]
    runs_by_agent: dict[str, dict[str, int]]
    llm_calls: int
    tool_calls: int
    tokens: dict[str, dict[str, int]]
    cost: dict[str, Money]
    total_cost: Money
    unpriced_tokens: dict[str, int]
    by_agent: dict[str, Spent]
    by_tenant: dict[str, Spent]
    by_user: dict[str, Spent]
    most_expensive: list[Expensive]
    agents: dict[str, dict[str, int]]
    tools: dict[str, dict[str, int]]
    model_calls_by_provider: dict[str, int]
    model_calls: dict[str, dict[str, int]]
    decisions: dict[str, dict[str, dict[str, int]]]
    shadow_decisions: dict[str, dict[str, dict[str, int]]]
    budgets: dict[str, Charged]
    approvals: dict[str, dict[str, int]]
    verdicts: dict[str, dict[str, int]]
    guardrail_spans: dict[str, int]
    coverage: dict[str, int]
    errors: dict[str, dict[str, int]]
    streams: dict[str, int]
    first_chunks: int
    spans: dict[str, int]
    foreign_spans: dict[str, int]
    events: dict[str, int]


class Difference(TypedDict):
    """A sum in which spanhook's count differs from the script."""

    table: str
    row: dict[str, str]
    expected: int
    counted: int


class Document(TypedDict):
    """What ``spanhook load --json`` prints.

    Attributes:
        runs, seed, concurrency: As requested.
        price_list: The price list used for costs; ``None`` if there is none, so that every model is unpriced.
        foreign_spans: Whether other instrumentations could open spans; not with ``OTEL_SDK_DISABLED``.
        seconds: How long the runs took.
        totals, metrics: The sums from the script.
        differences: Where spanhook's counts differ; empty if all is well.
        internal_errors: Errors in spanhook's own code, by component; empty if all is well.
    """

    runs: int
    seed: int
    concurrency: int
    price_list: str | None
    foreign_spans: bool
    seconds: float
    totals: Totals
    metrics: dict[str, list[Series]]
    differences: list[Difference]
    internal_errors: dict[str, int]


# ----------------------------------------------------------------------------------------------- totals


def totals(tables: Tables) -> Totals:
    """Sum up the tables by dimension."""
    return Totals(
        runs=tables.total("runs"),
        runs_by_status=tables.by("runs", "status"),
        runs_by_agent=_nested(tables.by_all("runs", "agent", "status")),
        llm_calls=tables.by("calls", "kind").get("llm.call", 0),
        tool_calls=tables.by("calls", "kind").get("tool.execute", 0),
        tokens={model: _buckets(found) for model, found in _nested(tables.by_all("tokens", "model", "bucket")).items()},
        cost={model: money(nano) for model, nano in tables.by("cost", "model").items()},
        total_cost=money(tables.total("cost")),
        unpriced_tokens=tables.by("unpriced", "model"),
        by_agent=_spent(tables, "agent"),
        by_tenant=_spent(tables, "tenant"),
        by_user=_spent(tables, "user"),
        most_expensive=_most_expensive(tables),
        agents=_nested(tables.by_all("agents", "agent", "status")),
        tools=_nested(tables.by_all("tools", "tool", "status")),
        model_calls_by_provider=tables.by("model_calls", "provider"),
        model_calls=_nested(tables.by_all("model_calls", "requested", "error_type")),
        decisions=_nested(tables.by_all("decisions", "hook", "event", "decision")),
        shadow_decisions=_nested(tables.by_all("shadow_decisions", "hook", "event", "decision")),
        budgets=_charged(tables),
        approvals=_nested(tables.by_all("approvals", "hook", "outcome")),
        verdicts=_nested(tables.by_all("verdicts", "hook", "verdict")),
        guardrail_spans=tables.by("attempts", "hook"),
        coverage=tables.by("coverage", "coverage"),
        errors=_nested(tables.by_all("errors", "error_type", "kind")),
        streams=tables.by("streams", "status"),
        first_chunks=tables.total("first_chunks"),
        spans=tables.by("spans", "kind"),
        foreign_spans=tables.by("foreign_spans", "kind"),
        events=tables.by("events", "event"),
    )


def money(nano: int) -> Money:
    """Convert nano-dollars to dollars."""
    return Money(usd=f"{nano // NANO}.{nano % NANO:09}", usd_float=nano / NANO)


def _nested(found: Mapping[tuple[str, ...], int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for (*path, last), amount in found.items():
        place = result
        for name in path:
            place = place.setdefault(name, {})
        place[last] = amount
    return result


def _buckets(found: Mapping[str, int]) -> dict[str, int]:
    return {bucket: found.get(bucket, 0) for bucket in BUCKETS}


def _spent(tables: Tables, column: str) -> dict[str, Spent]:
    runs = tables.by("runs", column)
    calls = tables.by_all("calls", column, "kind")
    tokens = tables.by_all("spent_tokens", column, "bucket")
    cost = tables.by("spent_cost", column)
    return {
        one: Spent(
            runs=count,
            llm_calls=calls.get((one, "llm.call"), 0),
            tool_calls=calls.get((one, "tool.execute"), 0),
            tokens={bucket: tokens.get((one, bucket), 0) for bucket in BUCKETS},
            total_tokens=sum(tokens.get((one, bucket), 0) for bucket in BUCKETS),
            cost=money(cost.get(one, 0)),
        )
        for one, count in runs.items()
    }


def _charged(tables: Tables) -> dict[str, Charged]:
    rows = [(row["hook"], int(row["tokens"]), int(row["nano"]), runs) for row, runs in tables.rows("budgets")]
    return {
        hook: Charged(
            runs=sum(runs for one, _, _, runs in rows if one == hook),
            tokens=sum(tokens * runs for one, tokens, _, runs in rows if one == hook),
            cost=money(sum(nano * runs for one, _, nano, runs in rows if one == hook)),
            highest_share=max(tokens for one, tokens, _, _ in rows if one == hook) / RUN_BUDGET,
        )
        for hook in sorted({one for one, *_ in rows})
    }


def _most_expensive(tables: Tables) -> list[Expensive]:
    rows = [row for row, count in tables.rows("run_costs") for _ in range(count)]
    return [
        Expensive(
            agent=row["agent"],
            status=row["status"],
            tenant=row["tenant"],
            user=row["user"],
            cost=money(int(row["nano"])),
        )
        for row in reversed(rows[-MOST_EXPENSIVE:])
    ]


def differences(wanted: Tables, counted: Tables) -> Iterator[Difference]:
    """Every sum that differs."""
    for table, row in sorted({*wanted.sums, *counted.sums}):
        expected, found = wanted.sums[table, row], counted.sums[table, row]
        if expected != found and table not in MEASURED:
            yield Difference(
                table=table, row=dict(zip(COLUMNS[table], row, strict=True)), expected=expected, counted=found
            )
