"""What became slow: models, tools and hooks side by side, now and before."""

from grafana.src import frame, gates
from grafana.src.names import label
from grafana.src.panels import RED, YELLOW, Line, graph
from grafana.src.queries import MODEL, chosen_url, dashboard_url, is_not, ours, quantile, rate, summed
from grafana.src.tables import Column, rows
from spanhook import semconv

TIMES = "suffix:\N{MULTIPLICATION SIGN}"
"""A unit: so many times what it was."""


def row() -> frame.Row:
    """The row of it on the dashboard to start from."""

    def called(seconds: str) -> str:
        return f"({seconds} >= 0)"  # the quantile of no calls is NaN, which Grafana would show

    def model(over: str, offset: str = "") -> str:
        buckets = ours(semconv.METRIC_CLIENT_DURATION, is_not(semconv.GEN_AI_RESPONSE_MODEL, ""), MODEL, part="_bucket")
        return called(quantile(0.95, buckets, semconv.GEN_AI_RESPONSE_MODEL, over=over, offset=offset))

    def tool(over: str, offset: str = "") -> str:
        buckets = ours(semconv.METRIC_TOOL_DURATION, part="_bucket")
        return called(quantile(0.95, buckets, semconv.GEN_AI_TOOL_NAME, over=over, offset=offset))

    before = "Now: of the time shown. Before: of as long a time before it. Those that became slower come first."
    values = {
        "Value #A": Column("p95 now", unit="s", width=90),
        "Value #B": Column("p95 before", unit="s", width=90),
        "Value #C": Column("Change", unit=TIMES, width=80, steps=((None, "text"), (1.5, YELLOW), (2, RED))),
    }
    return "What became slow: model, tool or hook", [
        graph(
            "Where time goes",
            "Seconds spent per second: in model calls, in tools (with all they do), in hooks. Calls at the same time "
            "add "
            "up.",
            Line(summed(rate(ours(semconv.METRIC_CLIENT_DURATION, part="_sum"))), "models"),
            Line(summed(rate(ours(semconv.METRIC_TOOL_DURATION, part="_sum"))), "tools"),
            Line(gates.hook_seconds(), "hooks"),
            unit="s",
            empty="No model, tool or hook ran in this time",
            width=8,
        ),
        rows(
            "Models, now and before",
            f"95th percentile of a call's duration. {before}",
            model("$__range"),
            model("$__range", "$__range"),
            f"{model('$__range')} / {model('$__range', '$__range')}",
            columns={
                label(semconv.GEN_AI_RESPONSE_MODEL): Column(
                    "Model", url=chosen_url(frame.USAGE, "model"), link="This model's usage and latency"
                ),
                **values,
            },
            empty="No model was called in this time",
            width=8,
            sort="Change",
            then="p95 now",
        ),
        rows(
            "Tools, now and before",
            f"95th percentile of an execution's duration. {before}",
            tool("$__range"),
            tool("$__range", "$__range"),
            f"{tool('$__range')} / {tool('$__range', '$__range')}",
            columns={
                label(semconv.GEN_AI_TOOL_NAME): Column("Tool", url=dashboard_url(frame.TOOLS), link="All tools"),
                **values,
            },
            empty="No tool was executed in this time",
            width=8,
            sort="Change",
            then="p95 now",
        ),
    ]
