"""Hooks and policy: what is bound and what is not, what hooks decide, who is blocked, whether hooks fail.

Budgets, approvals and remote policies have modules of their own.
"""

from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.src import approvals, budgets, frame, gated, gates, guards, policies
from grafana.src.names import label
from grafana.src.panels import COUNT, GREEN, RED, Line, Panel, graph, log_lines
from grafana.src.queries import (
    attribute,
    counted,
    counts,
    decisions,
    is_,
    ours,
    per_minute,
    quantile,
    rate,
    shadow_decisions,
    summed,
)
from grafana.src.tables import Column, log_rows, rows, traces
from spanhook import semconv

DECISION_COLOURS = {
    "allow": GREEN, "reject": "orange", "modify": "purple", "replace": "blue", "pause": "light-blue", "error": RED,
    "timeout": "dark-red", "skipped": "#808080", "too_late": "dark-orange", "attempted": "semi-dark-orange",
}  # fmt: skip
NO_HOOKS = "No hook ran in this time: none is registered for what ran, or the mode is off"
NO_LOGS = "No decision other than allow in this time"
NO_SHADOW = "No hook in shadow mode ran in this time"
HOOK = f"{{{{{label(semconv.HOOK)}}}}}"
HOOK_EVENT = f"{HOOK} on {{{{{label(semconv.EVENT)}}}}}"


def _refused(title: str, about: str, refusals: str, *, empty: str, width: int = 24) -> Panel:
    """Who was refused what, and why: a row for each, with how often."""
    who = {
        semconv.TENANT_ID: Column("Tenant"),
        semconv.USER_ID: Column("User"),
        semconv.HOOK: Column("Hook"),
        semconv.TARGET: Column("Target"),
        semconv.DECISION_REASON: Column("Reason", width=260),
    }
    columns = {label(name): column for name, column in who.items()}
    columns["Value #A"] = Column("Times", unit=COUNT, width=100)
    return log_rows(title, about, counted(refusals, *who), columns=columns, empty=empty, width=width, sort="Times")


def _decided() -> frame.Row:
    return "What hooks decide", [
        graph(
            "Decisions",
            "Per minute, without decisions to allow.",
            Line(
                per_minute(gates.DECIDED, semconv.DECISION),
                f"{{{{{label(semconv.DECISION)}}}}}",
            ),
            unit="cpm",
            empty=NO_LOGS,
            stacked=True,
            colours=DECISION_COLOURS,
        ),
        graph(
            "Coverage of decisions",
            "Per minute. enforced: the hook runs at the call, and its rejection holds. best_effort: on another "
            "instrumentation's span, if that lets exceptions out. observed: the hook only sees the operation.",
            Line(per_minute(gates.DECISIONS, semconv.COVERAGE), f"{{{{{label(semconv.COVERAGE)}}}}}"),
            unit="cpm",
            empty=NO_HOOKS,
            stacked=True,
        ),
        rows(
            "Decisions by hook and event",
            "In the time shown, including decisions to allow. enforced: the hook runs at the call. "
            "best_effort and observed: on spans of other instrumentations.",
            counts(
                gates.DECISIONS,
                semconv.HOOK,
                semconv.EVENT,
                semconv.DECISION,
                semconv.FAIL_MODE,
                semconv.COVERAGE,
            ),
            columns={
                label(semconv.HOOK): Column("Hook"),
                label(semconv.EVENT): Column("Event"),
                label(semconv.DECISION): Column("Decision", colours=DECISION_COLOURS),
                label(semconv.FAIL_MODE): Column("Fails"),
                label(semconv.COVERAGE): Column("Coverage"),
                "Value": Column("Passes", unit=COUNT),
            },
            empty=NO_HOOKS,
            width=24,
            sort="Passes",
        ),
    ]


def _blocked() -> frame.Row:
    fields = (
        semconv.DECISION,
        semconv.HOOK,
        semconv.EVENT,
        semconv.TARGET,
        semconv.TENANT_ID,
        semconv.USER_ID,
        semconv.DECISION_REASON,
    )
    line = " ".join(f"{{{{.{label(name)}}}}}" for name in fields)
    return "Which gate blocked whom", [
        _refused(
            "Who was blocked",
            "Rejections in the time shown, from log events: none is missing, whether or not its trace was kept.",
            decisions(is_(semconv.DECISION, "reject")),
            empty="Nobody was blocked in this time",
            width=16,
        ),
        graph(
            "Rejections by hook",
            "Per minute. The alert SpanhookRejectionSurge fires where one rejects three times as often as an hour "
            "before.",
            Line(per_minute(gates.REJECTED, semconv.HOOK), HOOK),
            unit="cpm",
            empty="No hook rejected anything in this time",
            stacked=True,
            width=8,
        ),
        graph(
            "Refusals, enforced and attempted",
            "Per minute. enforced: the call was not made. attempted: it is known only from another instrumentation's "
            "span, and may have been made; bind that library, or remove that instrumentation.",
            Line(per_minute(gates.REJECTED), "enforced"),
            Line(per_minute(gates.ATTEMPTED), "attempted"),
            unit="cpm",
            empty="No hook refused anything in this time",
            width=8,
            colours={"enforced": "orange", "attempted": RED},
        ),
        _refused(
            "Refused, but possibly made anyway",
            "Refusals of calls that spanhook knows only from another instrumentation's span. The call may have "
            "been made anyway; its usage is counted if the span reports it.",
            decisions(is_(semconv.DECISION, "attempted")),
            empty="No refusal in this time depended on another instrumentation",
            width=16,
        ),
        traces(
            "Blocked, in traces",
            "Operations with any decision other than allow, of traces that were kept: every one with a rejection, "
            "a failed or a timed-out hook is.",
            f'{attribute(semconv.DECISION)} =~ "reject|attempted|pause|error|timeout"',
            columns={
                semconv.DECISION: Column("Decision", colours=DECISION_COLOURS, width=90),
                semconv.DECISION_HOOK: Column("Hook"),
                semconv.DECISION_REASON: Column("Reason", width=260),
                semconv.USER_ID: Column("User"),
            },
            empty="No operation was blocked in this time, or traces are not exported",
        ),
        log_lines(
            "Latest decisions",
            "Decision, hook, event, target, tenant, user and reason, newest first. Open a line to see all of it, "
            "and to its trace.",
            f"{decisions()} | line_format `{line}`",
            empty=NO_LOGS,
        ),
    ]


def _shadow() -> frame.Row:
    return "What hooks in shadow mode would have decided", [
        graph(
            "Would have decided",
            "Per minute, without decisions to allow. Nothing here was enforced.",
            Line(
                per_minute(gates.SHADOW_STOPS, semconv.HOOK, semconv.DECISION),
                f"{HOOK} {{{{{label(semconv.DECISION)}}}}}",
            ),
            unit="cpm",
            empty=NO_SHADOW,
            stacked=True,
            width=8,
        ),
        rows(
            "Shadow decisions by hook and event",
            "In the time shown, including decisions to allow: how often each hook would have stepped in.",
            counts(gates.SHADOWED, semconv.HOOK, semconv.EVENT, semconv.DECISION),
            columns={
                label(semconv.HOOK): Column("Hook"),
                label(semconv.EVENT): Column("Event"),
                label(semconv.DECISION): Column("Decision", colours=DECISION_COLOURS),
                "Value": Column("Times", unit=COUNT),
            },
            empty=NO_SHADOW,
            width=16,
            sort="Times",
        ),
        _refused(
            "Who would have been blocked",
            "Rejections that hooks in shadow mode would have made, in the time shown.",
            shadow_decisions(is_(semconv.DECISION, "reject")),
            empty="No hook in shadow mode would have blocked anybody in this time",
        ),
    ]


def _failing() -> frame.Row:
    return "Whether gates fail, and what they cost", [
        graph(
            "Failed open",
            "Passes per minute of hooks that failed or timed out before a call that was made anyway. A hook below "
            "priority "
            '100, or with fail_mode="closed", does not do this.',
            Line(
                per_minute(gates.FAILED_OPEN, semconv.HOOK, semconv.DECISION),
                f"{HOOK} {{{{{label(semconv.DECISION)}}}}}",
            ),
            unit="cpm",
            empty="No gate failed open in this time",
            width=8,
        ),
        graph(
            "Failed closed",
            "The same, but the call was refused; callers see a rejection.",
            Line(
                per_minute(gates.FAILED_CLOSED, semconv.HOOK, semconv.DECISION),
                f"{HOOK} {{{{{label(semconv.DECISION)}}}}}",
            ),
            unit="cpm",
            empty="No gate failed closed in this time",
            width=8,
        ),
        graph(
            "Timeouts",
            "Passes per minute that took longer than the hook's timeout, all events.",
            Line(per_minute(gates.TIMED_OUT, semconv.HOOK, semconv.EVENT), HOOK_EVENT),
            unit="cpm",
            empty="No hook took too long in this time",
            width=8,
        ),
        graph(
            "Time in hooks",
            "Seconds per second that each hook takes, without hooks in shadow mode: no call waits for them.",
            Line(gates.hook_seconds(semconv.HOOK), HOOK),
            unit="s",
            empty=NO_HOOKS,
            stacked=True,
            width=8,
        ),
        graph(
            "Time of a pass",
            "Mean over all enforced passes of a hook.",
            Line(
                f"{gates.hook_seconds(semconv.HOOK, semconv.EVENT)} / "
                f"({summed(rate(ours(semconv.METRIC_DECISIONS, gates.ENFORCED)), semconv.HOOK, semconv.EVENT)} > 0)",
                HOOK_EVENT,
            ),
            unit="s",
            empty=NO_HOOKS,
            width=8,
        ),
        graph(
            "Time of a pass, p95",
            "Of async and blocking hooks: those that wait for something. Without hooks in shadow mode.",
            Line(
                quantile(0.95, ours(semconv.METRIC_HOOK_DURATION, gates.ENFORCED, part="_bucket"), semconv.HOOK), HOOK
            ),
            unit="s",
            empty="No async or blocking hook ran in this time",
            width=8,
        ),
    ]


def dashboard() -> Dashboard:
    """What is gated, what was decided, who was blocked."""
    return frame.build(
        frame.HOOKS,
        "Hooks and policy",
        "What is gated and what is not, which gate blocked whom, how much of budgets is used, what waits for a person, "
        "whether a gate fails open or takes too long.",
        [
            gated.row(),
            _decided(),
            _blocked(),
            budgets.row(),
            approvals.row(),
            policies.row(),
            guards.row(),
            _shadow(),
            _failing(),
        ],
    )
