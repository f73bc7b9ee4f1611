"""What other ready-made hooks find: open circuits, redacted values, signs of injection, audit records."""

from grafana.src import frame
from grafana.src.gates import AUDIT_FAILED, CIRCUITS, ENFORCED
from grafana.src.names import label
from grafana.src.panels import COUNT, Line, graph
from grafana.src.queries import latest, ours, per_minute
from grafana.src.tables import Column, rows
from spanhook import semconv

HOOK = f"{{{{{label(semconv.HOOK)}}}}}"


def row() -> frame.Row:
    """The row of them on the dashboard Hooks and policy."""
    redacted = ours(semconv.METRIC_REDACTION_FINDINGS, ENFORCED)
    found = ours(semconv.METRIC_INJECTION_FINDINGS)
    return "Circuits, redaction, injection, audit", [
        rows(
            "Circuits",
            "Models and tools that a circuit breaker has stopped calling since it was started. 0: closed again. The "
            "alert SpanhookCircuitOpen fires for those that are open.",
            f"sum by ({', '.join(map(label, ('service.name', semconv.HOOK, semconv.CIRCUIT_BREAKER_TARGET)))}) "
            f"({latest(CIRCUITS)})",
            columns={
                "service_name": Column("Service"),
                label(semconv.HOOK): Column("Policy"),
                label(semconv.CIRCUIT_BREAKER_TARGET): Column("Model or tool"),
                "Value": Column("Open", unit=COUNT, width=80),
            },
            empty="No circuit has opened in this time",
            width=12,
            sort="Open",
        ),
        graph(
            "Redacted values",
            "Per minute, by what they are: replaced, or reason to refuse the call. Without those in shadow mode.",
            Line(
                per_minute(redacted, semconv.HOOK, semconv.REDACTION_ENTITY),
                f"{{{{{label(semconv.REDACTION_ENTITY)}}}}} by {HOOK}",
            ),
            unit="cpm",
            empty="Nothing was redacted in this time",
            stacked=True,
        ),
        graph(
            "Signs of injection",
            "Per minute, by rule, in texts that were flagged or refused. In shadow mode, they were only counted.",
            Line(
                per_minute(found, semconv.HOOK, semconv.INJECTION_RULE, semconv.MODE),
                f"{{{{{label(semconv.INJECTION_RULE)}}}}} by {HOOK} ({{{{{label(semconv.MODE)}}}}})",
            ),
            unit="cpm",
            empty="No sign of prompt injection was found in this time",
            stacked=True,
        ),
        graph(
            "Audit records",
            "Per minute: records written, and attempts to write one that failed. The alert SpanhookAuditFailing fires "
            "where there are any.",
            Line(per_minute(ours(semconv.METRIC_AUDIT_RECORDS), semconv.HOOK), f"written by {HOOK}"),
            Line(per_minute(AUDIT_FAILED, semconv.HOOK), f"failed in {HOOK}"),
            unit="cpm",
            empty="No audit log in this time",
        ),
    ]
