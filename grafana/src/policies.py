"""Policy services that ``remote_policy`` asks: how long they take, how asking fails, which are not asked for now."""

from grafana.src import frame, gates
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, YELLOW, Line, figure, graph
from grafana.src.queries import (
    is_,
    latest,
    or_zero,
    ours,
    per_minute,
    quantile,
    share_of_total,
    summed,
    total,
)
from grafana.src.tables import Column, rows
from spanhook import semconv

ASKED = ours(semconv.METRIC_REMOTE_POLICY_DURATION, part="_count")
UNDECIDED = ours(semconv.METRIC_REMOTE_POLICY_DURATION, is_(semconv.REMOTE_POLICY_OUTCOME, "error"), part="_count")
TOOK = ours(semconv.METRIC_REMOTE_POLICY_DURATION, part="_bucket")
FAILED = ours(semconv.METRIC_REMOTE_POLICY_ERRORS)
OPEN = ours(semconv.METRIC_REMOTE_POLICY_OPEN)
POLICY = ("service.name", semconv.HOOK)
OUTCOME_COLOURS = {"allow": GREEN, "deny": "orange", "transform": "purple", "escalate": "blue", "error": RED}
HOOK = f"{{{{{label(semconv.HOOK)}}}}}"
NOT_ASKED = "No policy service was asked in this time"


def _of_policies(selector: str) -> str:
    """What such policies have decided in the time shown, by policy: of decisions, where all hooks are."""
    labels = ", ".join(map(label, POLICY))
    return f"{total(selector, *POLICY)} and on ({labels}) {summed(latest(ASKED), *POLICY)}"


def _without_module(expression: str) -> str:
    """The same with types of errors as classes alone, which is what a legend has room for."""
    error = label(semconv.ERROR_TYPE)
    return f'label_replace({expression}, "{error}", "${{1}}", "{error}", ".*[.]([^.]+)")'


def row() -> frame.Row:
    """The row of them on the dashboard Hooks and policy."""
    return "Remote policies", [
        figure(
            "Policy questions",
            "How often services were asked whether a call may be made, or its result be used. Another attempt is no "
            "other question.",
            or_zero(total(ASKED)),
            unit=COUNT,
            empty="0",
            width=6,
        ),
        figure(
            "Policy questions without an answer",
            "Their share: no connection, no answer in time, none that is understood, or not asked. The alert "
            "SpanhookPolicyFailing fires above 5%.",
            share_of_total(UNDECIDED, ASKED),
            unit="percentunit",
            empty="Not asked",
            steps=((None, GREEN), (0.01, YELLOW), (0.05, RED)),
            width=6,
            decimals=1,
        ),
        figure(
            "Policy services not asked",
            "Circuits that are open now, of processes that run: policies whose service keeps failing. The alert "
            "SpanhookPolicyCircuitOpen fires after five minutes.",
            or_zero(f"sum({OPEN})"),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, RED)),
            width=6,
        ),
        figure(
            "Time until a decision, p95",
            "Over the time shown, all attempts together; calls wait so long. The alert SpanhookPolicySlow fires for "
            "a policy that takes more than half a second.",
            quantile(0.95, TOOK, over="$__range"),
            unit="s",
            empty="Not asked",
            steps=((None, GREEN), (0.25, YELLOW), (0.5, RED)),
            width=6,
        ),
        graph(
            "Time until a policy has decided",
            "By policy, all attempts together. A service that does not answer takes as long as the policy's timeout, "
            "by default 1 second; one that is not asked takes no time.",
            Line(quantile(0.5, TOOK, semconv.HOOK), f"p50 {HOOK}"),
            Line(quantile(0.95, TOOK, semconv.HOOK), f"p95 {HOOK}"),
            unit="s",
            empty=NOT_ASKED,
        ),
        graph(
            "Verdicts of policies",
            "Per minute, all policies, those in shadow mode too. error: the service has not decided.",
            Line(
                per_minute(ASKED, semconv.REMOTE_POLICY_OUTCOME),
                f"{{{{{label(semconv.REMOTE_POLICY_OUTCOME)}}}}}",
            ),
            unit="cpm",
            empty=NOT_ASKED,
            stacked=True,
            colours=OUTCOME_COLOURS,
        ),
        graph(
            "Failed attempts to ask",
            "Per minute, by what went wrong. PolicyNotAsked: the circuit was open. UnreadableAnswer and Unsendable "
            "refuse the call whatever the fail mode.",
            Line(
                _without_module(per_minute(FAILED, semconv.HOOK, semconv.ERROR_TYPE)),
                f"{HOOK}: {{{{{label(semconv.ERROR_TYPE)}}}}}",
            ),
            unit="cpm",
            empty="Every attempt in this time had an answer, or no policy service was asked",
            stacked=True,
            width=8,
        ),
        rows(
            "Remote policies by service",
            "In the time shown. Failures: attempts that failed. Failed open, failed closed: passes that the fail mode "
            "decided, as the service had not. Open: processes that do not ask now.",
            total(ASKED, *POLICY),
            total(UNDECIDED, *POLICY),
            total(FAILED, *POLICY),
            _of_policies(gates.FAILED_OPEN),
            _of_policies(gates.FAILED_CLOSED),
            summed(OPEN, *POLICY),
            columns={
                "service_name": Column("Service"),
                label(semconv.HOOK): Column("Policy"),
                "Value #A": Column("Questions", unit=COUNT, width=115),
                "Value #B": Column("No answer", unit=COUNT, width=115),
                "Value #C": Column("Failures", unit=COUNT, width=105),
                "Value #D": Column("Failed open", unit=COUNT, width=125),
                "Value #E": Column("Failed closed", unit=COUNT, width=140),
                "Value #F": Column("Open", unit=COUNT, width=85, steps=((None, GREEN), (1, RED))),
            },
            empty=NOT_ASKED,
            width=16,
            sort="No answer",
        ),
    ]
