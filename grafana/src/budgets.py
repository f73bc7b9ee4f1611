"""Budgets: how much of them is used, what counts against them, what they refuse, whether their store is there."""

from grafana.src import frame, gates
from grafana.src.names import label
from grafana.src.panels import BAD, COUNT, GREEN, RED, YELLOW, Line, figure, graph
from grafana.src.queries import growth, latest, or_zero, ours, per_minute, rate, summed, total
from grafana.src.tables import Column, rows
from spanhook import semconv

SHARES = ours(semconv.METRIC_BUDGET_UTILIZATION)
TOKENS = ours(semconv.METRIC_BUDGET_TOKENS)
COST = ours(semconv.METRIC_BUDGET_COST)
UNSETTLED = ours(semconv.METRIC_BUDGET_UNSETTLED)
"""Each policy of a process shows those of its store, so those of one store may be shown several times."""
EXPIRED = ours(semconv.METRIC_BUDGET_EXPIRED)
WHOSE = ("service.name", semconv.HOOK)
_ON = ", ".join(label(one) for one in WHOSE)
HOOK = f"{{{{{label(semconv.HOOK)}}}}}"
NO_BUDGET = "No call in this time was subject to a budget"
STEPS = ((None, GREEN), (0.8, YELLOW), (1, RED))


def of_budgets(expression: str, shares: str = SHARES) -> str:
    """What an expression says of hooks that are budgets: each shows its share in use, from its first call on."""
    return f"({expression}) and on ({_ON}) {shares}"


def row() -> frame.Row:
    """The row of them on the dashboard Hooks and policy."""
    refused = of_budgets(growth(gates.REJECTED), latest(SHARES))
    return "Budgets", [
        figure(
            "Highest share in use",
            "Of any budget, and of any one run, session, user or tenant that has one: the largest share of a limit "
            "that was used in a period. Above 100%, calls under way used more than was reserved for them.",
            f"max(max_over_time({SHARES}[$__range]))",
            unit="percentunit",
            empty="No budget",
            steps=STEPS,
            width=6,
        ),
        figure(
            "Refused by budgets",
            "Calls that a budget refused: it did not suffice, its store was away, or the price of the model is "
            "unknown. Who was blocked, above, says whose and why.",
            or_zero(f"sum({refused})"),
            unit=COUNT,
            empty="0",
            width=6,
        ),
        figure(
            "Calls not counted yet",
            "Calls whose use waits for a store that is away, as processes last reported. What a process that has "
            "ended still shows here was lost.",
            or_zero(f"sum(max by (service_name, instance) ({latest(UNSETTLED)}))"),
            unit=COUNT,
            empty="0",
            steps=BAD,
            width=6,
        ),
        figure(
            "Reservations expired",
            "Reservations whose process died or, on Redis, did not renew them in time. What those calls used is not "
            "known: on Redis they count as spent at what was reserved, in an SQLite file they do not count.",
            or_zero(total(EXPIRED)),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, YELLOW)),
            width=6,
        ),
        rows(
            "Budgets",
            "In the time shown: the largest share of a limit that any one run, session, user or tenant used in a "
            "period, and of all of them what was counted and how many calls were refused.",
            f"max by ({_ON}) (max_over_time({SHARES}[$__range]))",
            total(TOKENS, *WHOSE),
            total(COST, *WHOSE),
            f"sum by ({_ON}) ({refused}) > 0",
            columns={
                "service_name": Column("Service"),
                label(semconv.HOOK): Column("Policy"),
                "Value #A": Column("Highest share", unit="percentunit", steps=STEPS, width=110),
                "Value #B": Column("Tokens", unit="short", width=85),
                "Value #C": Column("Cost", unit="currencyUSD", width=85),
                "Value #D": Column("Refused", unit=COUNT, width=80),
            },
            empty=NO_BUDGET,
            sort="Highest share",
        ),
        graph(
            "Share in use",
            "The largest that any one run, session, user or tenant has used of a limit, as far as processes that run "
            "know. It falls when a period ends; that of runs and sessions does not. The alerts "
            "SpanhookBudgetNearlySpent and SpanhookBudgetSpent fire from 80% and 100% on.",
            Line(
                f"max by ({label(semconv.HOOK)}, {label(semconv.BUDGET_UNIT)}) ({SHARES})",
                f"{HOOK} {{{{{label(semconv.BUDGET_UNIT)}}}}}",
            ),
            unit="percentunit",
            empty=NO_BUDGET,
        ),
        graph(
            "Tokens counted against budgets",
            "Per minute. A call counts in each budget that it is subject to.",
            Line(per_minute(TOKENS, semconv.HOOK), HOOK),
            unit="cpm",
            empty=NO_BUDGET,
            width=8,
        ),
        graph(
            "Cost counted against budgets",
            "US dollars per hour, of budgets with a limit in US dollars. A call counts in each that it is subject to.",
            Line(f"{summed(rate(COST), semconv.HOOK)} * 3600", HOOK),
            unit="currencyUSD",
            empty="No call in this time was subject to a budget in US dollars",
            width=8,
        ),
        graph(
            "Refusals by budgets",
            "Per minute, for whatever reason.",
            Line(f"{summed(of_budgets(rate(gates.REJECTED)), semconv.HOOK)} * 60", HOOK),
            unit="cpm",
            empty="No budget refused anything in this time",
            stacked=True,
            width=8,
        ),
    ]
