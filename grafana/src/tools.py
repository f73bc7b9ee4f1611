"""Tools: how often they run, how long they take, how they fail."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import frame
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, STATUS_COLOURS, YELLOW, Line, figure, graph
from grafana.src.queries import (
    AGENT,
    attribute,
    counts,
    dashboard_url,
    is_,
    is_not,
    or_zero,
    ours,
    per_minute,
    quantile,
    share,
    share_of_total,
    total,
)
from grafana.src.tables import Column, matrix, rows, traces
from spanhook import semconv

CALLS = ours(semconv.METRIC_TOOL_DURATION, AGENT, part="_count")
BUCKETS = ours(semconv.METRIC_TOOL_DURATION, AGENT, part="_bucket")
FAILED = ours(semconv.METRIC_TOOL_DURATION, AGENT, is_(semconv.STATUS, "error"), part="_count")
REFUSED = ours(semconv.METRIC_TOOL_DURATION, AGENT, is_(semconv.STATUS, "rejected"), part="_count")
TOOL = f"{{{{{label(semconv.GEN_AI_TOOL_NAME)}}}}}"
NO_TOOLS = "No tool was executed in this time"


def _figures() -> frame.Row:
    return "In the time shown", [
        figure("Executions", "Of tools, of any status.", total(CALLS), unit=COUNT, empty="No tool ran", width=8),
        figure(
            "Failed",
            "Share of executions that ended with an error.",
            share_of_total(FAILED, CALLS),
            unit="percentunit",
            empty="No tool ran",
            steps=((None, GREEN), (0.02, YELLOW), (0.1, RED)),
            width=8,
        ),
        figure(
            "Refused",
            "Executions that a hook refused; the tool's body did not run.",
            or_zero(total(REFUSED)),
            unit=COUNT,
            empty="0",
            links={"Which gate blocked whom": dashboard_url(frame.HOOKS)},
            width=8,
        ),
        matrix(
            "Executions by tool and status",
            "In the time shown.",
            counts(CALLS, semconv.GEN_AI_TOOL_NAME, semconv.STATUS),
            down=label(semconv.GEN_AI_TOOL_NAME),
            across=label(semconv.STATUS),
            heading=Column("Tool", width=180),
            order=tuple(STATUS_COLOURS),
            unit=COUNT,
            empty=NO_TOOLS,
        ),
        rows(
            "Errors by tool and type",
            "In the time shown.",
            counts(
                ours(semconv.METRIC_TOOL_DURATION, AGENT, is_not(semconv.ERROR_TYPE, ""), part="_count"),
                semconv.GEN_AI_TOOL_NAME,
                semconv.STATUS,
                semconv.ERROR_TYPE,
            ),
            columns={
                label(semconv.GEN_AI_TOOL_NAME): Column("Tool"),
                label(semconv.STATUS): Column("Status", colours=STATUS_COLOURS),
                label(semconv.ERROR_TYPE): Column("Error"),
                "Value": Column("Executions", unit=COUNT),
            },
            empty="No tool failed in this time",
            sort="Executions",
        ),
    ]


def _time() -> frame.Row:
    return "Rate and latency", [
        graph(
            "Executions by tool",
            "Per minute. _other: tools without a name.",
            Line(per_minute(CALLS, semconv.GEN_AI_TOOL_NAME), TOOL),
            unit="cpm",
            empty=NO_TOOLS,
            stacked=True,
        ),
        graph(
            "Duration",
            "All tools. Click a point on the graph to see its trace.",
            *(Line(quantile(of, BUCKETS), f"p{of * 100:.0f}") for of in (0.5, 0.95, 0.99)),
            unit="s",
            empty=NO_TOOLS,
        ),
        graph(
            "Duration by tool, p95",
            "Which tool is slow. One that calls an agent lasts as long as that agent.",
            Line(quantile(0.95, BUCKETS, semconv.GEN_AI_TOOL_NAME), TOOL),
            unit="s",
            empty=NO_TOOLS,
        ),
        graph(
            "Failure rate by tool",
            "Share of executions that ended with an error.",
            Line(share(FAILED, CALLS, semconv.GEN_AI_TOOL_NAME), TOOL),
            unit="percentunit",
            empty=NO_TOOLS,
        ),
    ]


def _which() -> frame.Row:
    kind = f'{attribute(semconv.KIND)} = "tool.execute"'
    status = {semconv.STATUS: Column("Status", colours=STATUS_COLOURS, width=90)}
    user = {semconv.USER_ID: Column("User")}
    return "Which executions", [
        traces(
            "Slow executions",
            "Of traces that were kept: tools that took a second or more.",
            kind,
            "duration > 1s",
            columns={**status, **user},
            empty="No tool took a second or more in this time, or traces are not exported",
        ),
        traces(
            "Executions that failed or were refused",
            "Of traces that were kept (all such traces are).",
            kind,
            f'{attribute(semconv.STATUS)} =~ "error|rejected"',
            columns={
                **status,
                semconv.ERROR_TYPE: Column("Error"),
                semconv.DECISION_REASON: Column("Reason", width=260),
                **user,
            },
            empty="No tool failed or was refused in this time, or traces are not exported",
        ),
    ]


def dashboard() -> Dashboard:
    """Rate, latency and failures of tools."""
    return frame.build(
        frame.TOOLS,
        "Tools",
        "How often tools run, how long they take, how they fail. Metrics of tools do not carry the tenant, so "
        "that choice leaves them as they are.",
        [_figures(), _time(), _which()],
    )
