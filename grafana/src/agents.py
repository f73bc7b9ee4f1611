"""Agents: which runs there were, what broke and why, and what became slow. The starting point."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import background, frame, gated, gates, outside, slow
from grafana.src.names import label
from grafana.src.panels import BAD, COUNT, GREEN, RED, STATUS_COLOURS, YELLOW, Line, Panel, figure, graph, log_lines
from grafana.src.queries import (
    AGENT,
    MODEL,
    SERVICE,
    TENANT,
    attribute,
    chosen_url,
    counts,
    dashboard_url,
    is_,
    largest,
    mean,
    or_zero,
    ours,
    per_minute,
    quantile,
    runs,
    series,
    share_of_total,
    top,
    total,
    trace_url,
)
from grafana.src.tables import Column, log_rows, matrix, traces
from spanhook import semconv

RUNS = ours(semconv.METRIC_RUN_LLM_CALLS, AGENT, part="_count")
DURATION = ours(semconv.METRIC_AGENT_DURATION, AGENT, part="_bucket")
NO_RUNS = "No run ended in this time. Choose a longer time, or send one: spanhook load --runs 20"
NO_LOGS = "No log event spanhook.run in this time: no run ended, or logs are not exported (OTEL_EXPORTER_OTLP_ENDPOINT)"
TRACE = Column("Trace", url=trace_url(), link="Show the trace", width=150)
RUN_KEYS = ("trace_id", semconv.GEN_AI_AGENT_NAME, semconv.STATUS, semconv.TENANT_ID, semconv.USER_ID)


def run_columns(value: Column) -> dict[str, Column]:
    """Columns of a table of runs, the last with what it is sorted by."""
    return {
        "trace_id": TRACE,
        label(semconv.GEN_AI_AGENT_NAME): Column("Agent"),
        label(semconv.STATUS): Column("Status", colours=STATUS_COLOURS),
        label(semconv.TENANT_ID): Column("Tenant"),
        label(semconv.USER_ID): Column("User"),
        "Value #A": value,
    }


def most_expensive(width: int = 12) -> Panel:
    """Runs by what they cost, from log events: no run is missing because its trace was not kept."""
    return log_rows(
        "Most expensive runs",
        "The ten runs that cost most, every run counted. Cost from: leave out cheaper ones where there are too "
        "many runs to sort. Click the trace id to see the run, if its trace was kept.",
        top(10, largest(runs(f"{label(semconv.COST_USD)} >= $cost_from"), semconv.COST_USD, *RUN_KEYS)),
        columns=run_columns(Column("Cost", unit="currencyUSD")),
        empty="No run with a known cost in this time. Models without a price: dashboard Usage, Unpriced models",
        width=width,
        sort="Cost",
    )


def _now() -> frame.Row:
    return "What broke", [
        figure(
            "Runs",
            "Outermost operations that ended in the time shown, sampled or not.",
            total(RUNS),
            unit=COUNT,
            empty="No run",
            width=3,
        ),
        figure(
            "Failed",
            "Share of runs that ended with an error. Rejections, interrupts and cancellations do not count.",
            share_of_total(
                ours(semconv.METRIC_RUN_LLM_CALLS, AGENT, is_(semconv.STATUS, "error"), part="_count"), RUNS
            ),
            unit="percentunit",
            empty="No run",
            steps=((None, GREEN), (0.02, YELLOW), (0.05, RED)),
            width=3,
        ),
        figure(
            "Rejected",
            "Operations that a hook refused: runs, model calls and tool calls. Click to see which hook refused whom.",
            or_zero(total(gates.REJECTED)),
            unit=COUNT,
            empty="0",
            links={"Which gate blocked whom": dashboard_url(frame.HOOKS)},
            width=3,
        ),
        figure(
            "Spent",
            "Cost of all model calls with a known price. Click to see who spends it.",
            total(ours(semconv.METRIC_COST, AGENT, MODEL, TENANT)),
            unit="currencyUSD",
            empty="Nothing priced",
            links={"Who is spending": dashboard_url(frame.USAGE)},
            width=3,
        ),
        figure(
            "Ungated",
            "Libraries in use that are not bound, not wrapped completely, or not supported in this version: "
            "calls through them pass no gate. Click to see them in a table.",
            gates.UNBOUND,
            unit=COUNT,
            empty="0",
            steps=BAD,
            links={"What is ungated": dashboard_url(frame.HOOKS)},
            width=3,
        ),
        figure(
            "Failed open",
            "Hooks that failed or timed out before a call that was made anyway.",
            or_zero(total(gates.FAILED_OPEN)),
            unit=COUNT,
            empty="0",
            steps=BAD,
            links={"Which gates fail": dashboard_url(frame.HOOKS)},
            width=3,
        ),
        figure(
            "Items lost",
            "Items of any signal that an SDK or a collector has given up. Click to see where.",
            gates.LOST,
            unit=COUNT,
            empty="0",
            steps=BAD,
            links={"Is telemetry complete": dashboard_url(frame.PIPELINE)},
            width=3,
        ),
        figure(
            "Alerts firing",
            "Of the rules in collector/backends/rules, for all services. Click to see the list.",
            gates.FIRING,
            unit=COUNT,
            empty="0",
            steps=BAD,
            links={"The list": "/alerting/list"},
            width=3,
        ),
        gated.not_bound(),
    ]


def _runs() -> frame.Row:
    unfinished = ("interrupted", "abandoned", "cancelled")
    return "Runs", [
        graph(
            "Runs by status",
            "Runs per minute. Interrupted: the run waits for a person. Abandoned: the stream's reader stopped early.",
            Line(per_minute(RUNS, semconv.STATUS), f"{{{{{label(semconv.STATUS)}}}}}"),
            unit="cpm",
            empty=NO_RUNS,
            stacked=True,
            colours=STATUS_COLOURS,
        ),
        graph(
            "Duration",
            "How long agents take, sub-agents included, all statuses. Click a point on the graph to see its trace.",
            *(Line(quantile(of, DURATION), f"p{of * 100:.0f}") for of in (0.5, 0.95, 0.99)),
            unit="s",
            empty=NO_RUNS,
        ),
        graph(
            "Duration by agent, p95",
            "Which agent is slow.",
            Line(quantile(0.95, DURATION, semconv.GEN_AI_AGENT_NAME), f"{{{{{label(semconv.GEN_AI_AGENT_NAME)}}}}}"),
            unit="s",
            empty=NO_RUNS,
        ),
        graph(
            "Calls per run",
            "Model and tool calls of an average run. A line that grows is an agent that loops.",
            Line(mean(semconv.METRIC_RUN_LLM_CALLS, matchers=[AGENT]), "model calls"),
            Line(mean(semconv.METRIC_RUN_TOOL_CALLS, matchers=[AGENT]), "tool calls"),
            unit="short",
            empty=NO_RUNS,
        ),
        graph(
            "Interrupted, abandoned, cancelled",
            "Runs per minute that ended without an answer and without an error.",
            Line(
                per_minute(
                    ours(semconv.METRIC_RUN_LLM_CALLS, AGENT, is_(semconv.STATUS, *unfinished), part="_count"),
                    semconv.STATUS,
                ),
                f"{{{{{label(semconv.STATUS)}}}}}",
            ),
            unit="cpm",
            empty="Every run in this time ended with an answer, an error or a rejection",
            colours=STATUS_COLOURS,
        ),
        matrix(
            "By agent",
            "Runs in the time shown. Click an agent to see only its runs.",
            counts(RUNS, semconv.GEN_AI_AGENT_NAME, semconv.STATUS),
            down=label(semconv.GEN_AI_AGENT_NAME),
            across=label(semconv.STATUS),
            heading=Column("Agent", url=chosen_url(frame.AGENTS, "agent"), link="This agent alone"),
            order=tuple(STATUS_COLOURS),
            unit=COUNT,
            empty=NO_RUNS,
        ),
    ]


def _handed_off() -> frame.Row:
    handed = series(outside.SPAN_CALLS, SERVICE, is_(semconv.KIND, "agent.delegate"))
    return "Hand-offs", [
        graph(
            "Hand-offs by status",
            "Per minute: one agent passes its work on to another. From spans, before the collector samples.",
            Line(per_minute(handed, semconv.STATUS), f"{{{{{label(semconv.STATUS)}}}}}"),
            unit="cpm",
            empty="No agent handed off in this time",
            stacked=True,
            colours=STATUS_COLOURS,
            width=8,
        ),
        traces(
            "Who handed off to whom",
            "Of traces that were kept. Why one was refused is in Where they broke, above.",
            f'{attribute(semconv.KIND)} = "agent.delegate"',
            columns={
                semconv.DELEGATING_AGENT: Column("From"),
                semconv.GEN_AI_AGENT_NAME: Column("To"),
                semconv.STATUS: Column("Status", colours=STATUS_COLOURS, width=90),
            },
            empty="No agent handed off in this time, or traces are not exported",
            width=16,
        ),
    ]


def _which() -> frame.Row:
    failed = f'{label(semconv.STATUS)}=~"error|rejected"'
    fields = (
        semconv.STATUS,
        semconv.GEN_AI_AGENT_NAME,
        semconv.ERROR_TYPE,
        semconv.TENANT_ID,
        semconv.USER_ID,
        semconv.RUN_ID,
    )
    line = " ".join(f"{{{{.{label(name)}}}}}" for name in fields)
    return "Which run, and why", [
        log_lines(
            "Runs that failed or were rejected",
            "Status, agent, error, tenant, user and run, newest first. Open a line to see all of the run, "
            "and to its trace.",
            f"{runs(failed)} | line_format `{line}`",
            empty="No run failed or was rejected in this time",
        ),
        log_rows(
            "Slowest runs",
            "The ten runs that took longest, every run counted. Seconds from: leave out shorter ones where there "
            "are too many runs to sort.",
            top(10, largest(runs(f"{label(semconv.DURATION)} >= $seconds_from"), semconv.DURATION, *RUN_KEYS)),
            columns=run_columns(Column("Duration", unit="s")),
            empty=NO_LOGS,
            sort="Duration",
        ),
        most_expensive(),
        traces(
            "Where they broke",
            "Spans that failed or were refused, of traces that were kept (all such traces are). The innermost of "
            "a trace is the cause: its error, or the hook that decided and its reason.",
            f'{attribute(semconv.STATUS)} =~ "error|rejected"',
            columns={
                semconv.STATUS: Column("Status", colours=STATUS_COLOURS, width=90),
                semconv.ERROR_TYPE: Column("Error"),
                semconv.DECISION_HOOK: Column("Hook"),
                semconv.DECISION_REASON: Column("Reason", width=260),
            },
            empty="No span failed or was refused in this time, or traces are not exported",
        ),
    ]


def dashboard() -> Dashboard:
    """The dashboard to start from."""
    return frame.build(
        frame.AGENTS,
        "Agents",
        "What broke, which run and why, what became slow. Every other question is one click from here.",
        [_now(), _runs(), _which(), _handed_off(), background.row(), slow.row()],
        [
            frame.floor(
                "cost_from", "Cost from, USD", "Runs that cost less are not in the table of the most expensive"
            ),
            frame.floor("seconds_from", "Seconds from", "Runs that took less are not in the table of the slowest"),
        ],
    )
