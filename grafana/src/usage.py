"""Usage: tokens and cost, by model, agent, tenant and user; latency and errors of models."""

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import frame, gates, outside
from grafana.src.agents import most_expensive
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, Line, figure, graph, log_bars
from grafana.src.queries import (
    AGENT,
    ASKED_MODEL,
    MODEL,
    TENANT,
    added,
    chosen_url,
    counts,
    dashboard_url,
    is_not,
    or_zero,
    ours,
    per_minute,
    quantile,
    rate,
    runs,
    summed,
    top,
    total,
)
from grafana.src.tables import Column, log_rows, matrix, rows
from spanhook import semconv

CHOSEN = (AGENT, MODEL, TENANT)
TOKENS = ours(semconv.METRIC_TOKENS, *CHOSEN)
COST = ours(semconv.METRIC_COST, *CHOSEN)
RUNS = ours(semconv.METRIC_RUN_LLM_CALLS, AGENT, part="_count")
UNPRICED = ours(semconv.METRIC_UNPRICED, *CHOSEN)
NO_USAGE = (
    "No tokens in this time: no model was called. With a tenant chosen, metrics need Settings(tenant_metrics=True)"
)
NO_LOGS = "No log event spanhook.run with a cost in this time"
BUCKET_COLOURS = {
    "input": "blue", "cache_read": "light-blue", "cache_write": "purple", "output": GREEN, "reasoning": "orange",
}  # fmt: skip


def calls(part: str, *matchers: str) -> str:
    """Rate of a part of the histogram of model calls.

    A model is chosen by what answered, or by what was asked where nothing did.
    """
    either = [
        rate(
            ours(semconv.METRIC_CLIENT_DURATION, of_model, *matchers, part="_bucket" if part == "_bucket" else "_count")
        )
        for of_model in (MODEL, ASKED_MODEL)
    ]
    return " or ".join(either)


def _figures() -> frame.Row:
    return "In the time shown", [
        figure(
            "Cost",
            "Of all calls with a known price, every call counted.",
            total(COST),
            unit="currencyUSD",
            empty="Nothing priced",
        ),
        figure(
            "Tokens",
            "All five buckets: input, cache read, cache write, output, reasoning. They do not overlap.",
            total(TOKENS),
            unit="short",
            empty="No tokens",
        ),
        figure(
            "Model calls",
            "Calls that reached a model, whether or not they succeeded; embeddings included. What a hook answered "
            "or refused is not among them.",
            total(ours(semconv.METRIC_CLIENT_DURATION, part="_count")),
            unit=COUNT,
            empty="No model call",
        ),
        figure(
            "Cost per run",
            "Cost divided by the number of runs.",
            f"{total(ours(semconv.METRIC_COST, AGENT))} / ({total(RUNS)} > 0)",
            unit="currencyUSD",
            empty="No run",
            decimals=4,
        ),
        figure(
            "Unpriced tokens",
            "Tokens of models without a known price: their cost is in no figure here.",
            or_zero(total(UNPRICED)),
            unit="short",
            empty="0",
            steps=((None, GREEN), (1, RED)),
        ),
        figure(
            "Budget left of a day",
            "What is left of a day's budget after what the last 24 hours cost, all services. The budget is the "
            "rule spanhook:budget_usd:day in collector/backends/rules/budget.yaml.",
            f"{outside.BUDGET} - on () {or_zero(f'sum(increase({ours(semconv.METRIC_COST)}[1d]))')}",
            unit="currencyUSD",
            empty="No budget rule",
            steps=((None, RED), (0, GREEN)),
        ),
    ]


def _tokens() -> frame.Row:
    return "Tokens", [
        graph(
            "Tokens by bucket",
            "Tokens per minute. Cached input costs less; cache writes and reasoning cost more.",
            Line(per_minute(TOKENS, semconv.TOKEN_BUCKET), f"{{{{{label(semconv.TOKEN_BUCKET)}}}}}"),
            unit="cpm",
            empty=NO_USAGE,
            stacked=True,
            colours=BUCKET_COLOURS,
        ),
        matrix(
            "Tokens by model and bucket",
            "In the time shown. The sum of a row is all that model used.",
            counts(TOKENS, semconv.GEN_AI_RESPONSE_MODEL, semconv.TOKEN_BUCKET),
            down=label(semconv.GEN_AI_RESPONSE_MODEL),
            across=label(semconv.TOKEN_BUCKET),
            heading=Column("Model", width=180),
            order=tuple(BUCKET_COLOURS),
            unit="short",
            empty=NO_USAGE,
        ),
        graph(
            "Size of prompts, p95",
            "Input tokens of a call, cached ones included. A line that grows is a conversation nobody shortens.",
            Line(
                quantile(
                    0.95,
                    ours(
                        semconv.METRIC_CLIENT_TOKENS,
                        MODEL,
                        f'{label(semconv.GEN_AI_TOKEN_TYPE)}="input"',
                        part="_bucket",
                    ),
                    semconv.GEN_AI_RESPONSE_MODEL,
                ),
                f"{{{{{label(semconv.GEN_AI_RESPONSE_MODEL)}}}}}",
            ),
            unit="short",
            empty=NO_USAGE,
        ),
        rows(
            "Unpriced models",
            "Tokens of models for which no price is known. Update genai-prices (the extra prices), or have the "
            "provider report the cost.",
            counts(UNPRICED, "service.name", semconv.GEN_AI_PROVIDER_NAME, semconv.GEN_AI_RESPONSE_MODEL),
            columns={
                "service_name": Column("Service"),
                label(semconv.GEN_AI_PROVIDER_NAME): Column("Provider"),
                label(semconv.GEN_AI_RESPONSE_MODEL): Column("Model"),
                "Value": Column("Tokens", unit="short"),
            },
            empty="Every model used in this time has a price",
            sort="Tokens",
        ),
    ]


def _cost() -> frame.Row:
    def pace(over: str) -> str:
        return f"sum(rate({ours(semconv.METRIC_COST)}[{over}])) * 86400"

    return "Who is spending", [
        graph(
            "Cost by model",
            "US dollars per hour.",
            Line(
                f"{summed(rate(COST), semconv.GEN_AI_RESPONSE_MODEL)} * 3600",
                f"{{{{{label(semconv.GEN_AI_RESPONSE_MODEL)}}}}}",
            ),
            unit="currencyUSD",
            empty="No call of a priced model in this time",
            stacked=True,
        ),
        graph(
            "Burn rate",
            "What a day would cost at the pace of the last hour and of the last five minutes, beside the budget "
            "of a day. The alert SpanhookCostBurnRate fires where both are over four times that.",
            Line(pace("1h"), "pace of 1 h"),
            Line(pace("5m"), "pace of 5 min"),
            Line(f"max({outside.BUDGET})", "budget of a day"),
            unit="currencyUSD",
            empty="No call of a priced model in this time",
        ),
        rows(
            "Cost by agent and model",
            "In the time shown. The agent is the one that made the call: a sub-agent's cost is listed under "
            "its own name.",
            counts(COST, semconv.GEN_AI_AGENT_NAME, semconv.GEN_AI_RESPONSE_MODEL),
            columns={
                label(semconv.GEN_AI_AGENT_NAME): Column(
                    "Agent", url=chosen_url(frame.AGENTS, "agent"), link="This agent's runs"
                ),
                label(semconv.GEN_AI_RESPONSE_MODEL): Column("Model"),
                "Value": Column("Cost", unit="currencyUSD"),
            },
            empty="No call of a priced model in this time",
            width=8,
            sort="Cost",
        ),
        log_bars(
            "Cost by tenant",
            "In the time shown, from log events: every run counted, whether or not metrics carry the tenant.",
            added(runs(), semconv.COST_USD, semconv.TENANT_ID),
            legend=label(semconv.TENANT_ID),
            unit="currencyUSD",
            empty=NO_LOGS,
        ),
        log_rows(
            "Top users",
            "The ten users whose runs cost most in the time shown, from log events.",
            top(10, added(runs(), semconv.COST_USD, semconv.USER_ID, semconv.TENANT_ID)),
            columns={
                label(semconv.USER_ID): Column("User"),
                label(semconv.TENANT_ID): Column(
                    "Tenant", url=chosen_url(frame.AGENTS, "tenant"), link="This tenant's runs"
                ),
                "Value #A": Column("Cost", unit="currencyUSD"),
            },
            empty=NO_LOGS,
            width=8,
            sort="Cost",
        ),
        most_expensive(24),
    ]


def _models() -> frame.Row:
    answered = ours(semconv.METRIC_CLIENT_DURATION, is_not(semconv.GEN_AI_RESPONSE_MODEL, ""), MODEL, part="_bucket")
    first = ours(semconv.METRIC_TIME_TO_FIRST_CHUNK, MODEL, part="_bucket")
    legend = f"{{{{{label(semconv.GEN_AI_RESPONSE_MODEL)}}}}}"
    held, asked = (
        ours(semconv.METRIC_STREAM_HELD, ASKED_MODEL, part="_bucket"),
        f"{{{{{label(semconv.GEN_AI_REQUEST_MODEL)}}}}}",
    )
    failed = calls("_count", is_not(semconv.ERROR_TYPE, ""))
    by_model = f"sum by ({label(semconv.GEN_AI_REQUEST_MODEL)})"
    return "Models", [
        graph(
            "Duration of calls",
            "All models chosen. Click a point on the graph to see its trace.",
            *(Line(quantile(of, answered), f"p{of * 100:.0f}") for of in (0.5, 0.95, 0.99)),
            unit="s",
            empty="No model was called in this time",
        ),
        graph(
            "Duration by model, p95",
            "Which model is slow. A stream lasts until it is read to its end.",
            Line(quantile(0.95, answered, semconv.GEN_AI_RESPONSE_MODEL), legend),
            unit="s",
            empty="No model was called in this time",
        ),
        graph(
            "Time to first chunk",
            "Of streams: how long a reader waits for the first word.",
            Line(quantile(0.5, first, semconv.GEN_AI_RESPONSE_MODEL), f"p50 {legend}"),
            Line(quantile(0.95, first, semconv.GEN_AI_RESPONSE_MODEL), f"p95 {legend}"),
            unit="s",
            empty="No stream in this time",
        ),
        graph(
            "Time streams are held back",
            "From a stream's first chunk until its reader gets it, where hooks must see the whole of it first "
            '(stream="buffer", and gates with an after). With stream="window" only the last words wait.',
            Line(quantile(0.5, held, semconv.GEN_AI_REQUEST_MODEL), f"p50 {asked}"),
            Line(quantile(0.95, held, semconv.GEN_AI_REQUEST_MODEL), f"p95 {asked}"),
            unit="s",
            empty="No stream was held back in this time",
            width=12,
        ),
        graph(
            "Errors by type",
            "Model calls per minute that failed. Calls that a hook refused are not counted.",
            Line(f"sum by ({label(semconv.ERROR_TYPE)}) ({failed}) * 60", f"{{{{{label(semconv.ERROR_TYPE)}}}}}"),
            unit="cpm",
            empty="No model call failed in this time",
            stacked=True,
            width=6,
        ),
        graph(
            "Error rate by model",
            "Share of calls that failed, by the requested model; refused ones are left out.",
            Line(
                f"{by_model} ({calls('_count', is_not(semconv.ERROR_TYPE, ''))}) / {by_model} ({calls('_count')})",
                f"{{{{{label(semconv.GEN_AI_REQUEST_MODEL)}}}}}",
            ),
            unit="percentunit",
            empty="No model call failed in this time",
            width=6,
        ),
        graph(
            "Calls not made",
            "Model calls per minute that a hook refused (reject) or answered (replace). They are in no duration and no "
            "error rate: the provider did not see them.",
            Line(per_minute(gates.ANSWERED, semconv.DECISION), f"{{{{{label(semconv.DECISION)}}}}}"),
            unit="cpm",
            empty="No hook refused or answered a model call in this time",
            stacked=True,
            width=12,
            links={"Which gate blocked whom": dashboard_url(frame.HOOKS)},
        ),
    ]


def dashboard() -> Dashboard:
    """Who is spending, on which model and agent."""
    return frame.build(
        frame.USAGE,
        "Usage",
        "Who is spending, on which model and agent; which model is slow or fails. Sampling changes no figure here.",
        [_figures(), _tokens(), _cost(), _models()],
        [frame.floor("cost_from", "Cost from, USD", "Runs that cost less are not in the table of the most expensive")],
    )
