"""Approvals: what waits for a person, for how long, and what becomes of it."""

from grafana.src import frame
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, YELLOW, Line, figure, graph
from grafana.src.queries import counts, is_, or_zero, ours, per_minute, quantile, total
from grafana.src.tables import Column, matrix
from spanhook import semconv

REQUESTS = ours(semconv.METRIC_APPROVAL_REQUESTS)
ASKED = ours(semconv.METRIC_APPROVAL_REQUESTS, is_(semconv.APPROVAL_OUTCOME, "requested"))
EXPIRED = ours(semconv.METRIC_APPROVAL_REQUESTS, is_(semconv.APPROVAL_OUTCOME, "expired"))
WAITED = ours(semconv.METRIC_APPROVAL_WAIT, part="_bucket")
PENDING = ours(semconv.METRIC_APPROVAL_PENDING)
AGE = ours(semconv.METRIC_APPROVAL_AGE)
OUTCOME_COLOURS = {
    "requested": "blue", "approved": GREEN, "used": "light-green", "denied": "orange", "expired": "#808080",
}  # fmt: skip
HOOK = f"{{{{{label(semconv.HOOK)}}}}}"
NO_APPROVAL = "No call in this time needed an approval"


def row() -> frame.Row:
    """The row of them on the dashboard Hooks and policy."""
    return "Approvals", [
        figure(
            "Waiting for a person",
            "Requests without an answer now, of processes that run. spanhook approvals list shows all there are.",
            or_zero(f"sum({PENDING})"),
            unit=COUNT,
            empty="0",
            width=6,
        ),
        figure(
            "Oldest request",
            "How long the oldest request without an answer has been waiting. The alert SpanhookApprovalWaiting "
            "fires after half an hour.",
            f"max({AGE})",
            unit="s",
            empty="No approvals",
            steps=((None, GREEN), (900, YELLOW), (1800, RED)),
            width=6,
        ),
        figure(
            "Approvals asked for",
            "New requests. A call that is asked for again finds its request, and counts once.",
            or_zero(total(ASKED)),
            unit=COUNT,
            empty="0",
            width=6,
        ),
        figure(
            "Not answered in time",
            "Calls that found their request expired. With on_timeout: allow they were made, otherwise refused.",
            or_zero(total(EXPIRED)),
            unit=COUNT,
            empty="0",
            steps=((None, GREEN), (1, YELLOW)),
            width=6,
        ),
        matrix(
            "Approvals by policy and outcome",
            "In the time shown, as calls found them. approved, denied: a call that waited got this answer; used: a "
            "call was made with its approval.",
            counts(REQUESTS, semconv.HOOK, semconv.APPROVAL_OUTCOME),
            down=label(semconv.HOOK),
            across=label(semconv.APPROVAL_OUTCOME),
            heading=Column("Policy", width=180),
            order=tuple(OUTCOME_COLOURS),
            unit=COUNT,
            empty=NO_APPROVAL,
        ),
        graph(
            "Approvals by outcome",
            "Per minute, all policies.",
            Line(per_minute(REQUESTS, semconv.APPROVAL_OUTCOME), f"{{{{{label(semconv.APPROVAL_OUTCOME)}}}}}"),
            unit="cpm",
            empty=NO_APPROVAL,
            colours=OUTCOME_COLOURS,
        ),
        graph(
            "Requests without an answer",
            "By policy, of processes that run.",
            Line(f"sum by ({label(semconv.HOOK)}) ({PENDING})", HOOK),
            unit=COUNT,
            empty=NO_APPROVAL,
            stacked=True,
        ),
        graph(
            "Time until an answer",
            "Of requests that were answered while a call waited for them, or when it was resumed.",
            Line(quantile(0.5, WAITED, semconv.HOOK), f"p50 {HOOK}"),
            Line(quantile(0.95, WAITED, semconv.HOOK), f"p95 {HOOK}"),
            unit="s",
            empty="No request was answered in this time",
        ),
    ]
