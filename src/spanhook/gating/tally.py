"""Counts the decisions of hooks."""

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.gating.binding import WATCH, Bound
from spanhook.gating.log import tell
from spanhook.model import Record, encodable
from spanhook.semconv import Decision, Phase
from spanhook.telemetry import counts, telemetry


def count_decision(op: Record, bound: Bound, decision: Decision, spent_ns: int, phase: Phase) -> None:
    """Count a decision of a hook about an operation in this phase, and its time."""
    try:
        settings = telemetry.settings
        mode = "enforce" if op.shadow is None else "shadow"
        vector = counts.decisions.vector(
            (
                bound.name,
                op.kind,
                phase,
                decision,
                mode,
                op.coverage,
                bound.closed,
                encodable(op.identity.tenant_id) if settings.tenant_metrics else "",
            )
        )
        vector[0] += 1
        vector[1] += spent_ns
        if op.plan is not None and op.plan.listeners and bound.form != WATCH:
            tell(op, bound, decision, spent_ns, phase)
        if bound.slow:
            instruments = telemetry.live()
            if instruments is not None:
                instruments.histograms.hook.record(
                    spent_ns / 1e9,
                    {semconv.HOOK: bound.name, semconv.EVENT: f"{op.kind}.{phase}", semconv.MODE: mode},
                )
    except Exception as error:
        internal.report("accounting", error, lost=1)
