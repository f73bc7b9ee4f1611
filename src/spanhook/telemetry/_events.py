"""The log events about an operation that has ended; no sampler touches them.

Each is emitted separately: if one fails, the others are still emitted.
"""

from collections import Counter
from typing import Any

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import DecisionRecord, Record, make_encodable
from spanhook.telemetry import _fields


def tell(op: Record, logger: Logger, context: Context, error_type: str | None, in_full: bool) -> None:
    """Emit one event for each decision, and one for a run that has ended.

    Args:
        op: The operation they are about.
        logger: Where they go.
        context: A context with the span of ``op``.
        error_type: The error that ``op`` failed with, if any.
        in_full: Whether exception messages are included.
    """
    for number, decision in enumerate(op.decided.records):
        emit(op, number, logger, context, semconv.EVENT_DECISION, _decided(op, decision, in_full))
    if op.parent is None:
        emit(op, len(op.decided.records), logger, context, semconv.EVENT_RUN, _ran(op, error_type), _body(op))


def decided(op: Record, decision: DecisionRecord, logger: Logger, context: Context, in_full: bool) -> None:
    """Emit the event for a single decision."""
    emit(op, op.emitted, logger, context, semconv.EVENT_DECISION, _decided(op, decision, in_full))


def emit(
    op: Record,
    number: int,
    logger: Logger,
    context: Context,
    name: str,
    attributes: dict[str, Any],
    body: Any = None,
    *,
    severity: SeverityNumber = SeverityNumber.INFO,
) -> None:
    """Emit one event about ``op``, unless already emitted; a failure is counted.

    Args:
        number: The event's position among those about ``op``, in order of emission.
    """
    if number < op.emitted:
        return
    make_encodable(attributes)
    record = LogRecord(
        context=context,
        severity_number=severity,
        event_name=name,
        attributes=attributes,
        body=body,
    )
    op.emitted = number + 1
    try:
        logger.emit(record)
    except Exception as error:
        internal.report("report.event", error, lost=1)


def _who(attributes: dict[str, Any], op: Record) -> None:
    identity = op.identity
    if identity.run_id:
        attributes[semconv.RUN_ID] = identity.run_id
    _fields.whose(attributes, identity)
    if identity.agent_id:
        attributes[semconv.GEN_AI_AGENT_NAME] = identity.agent_id


def _decided(op: Record, decision: DecisionRecord, in_full: bool) -> dict[str, Any]:
    attributes = _fields.decided(op, decision, in_full)
    _who(attributes, op)
    attributes[semconv.KIND] = op.kind
    attributes[semconv.TARGET] = op.name
    attributes[semconv.MODE] = decision.mode
    attributes[semconv.COVERAGE] = op.coverage or "enforced"
    return attributes


def _ran(op: Record, error_type: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    _who(attributes, op)
    attributes[semconv.KIND] = op.kind
    attributes[semconv.TARGET] = op.name
    attributes[semconv.STATUS] = op.status
    attributes[semconv.DURATION] = (op.end_ns - op.start_ns) / 1e9
    _fields.used_inside(attributes, op.usage, zeros=True)
    if error_type:
        attributes[semconv.ERROR_TYPE] = error_type
    attributes[semconv.DECISION_COUNTS] = len(op.run.decisions)
    return attributes


def _body(op: Record) -> dict[str, Any]:
    return {
        semconv.USAGE_BY_MODEL: {model: one.as_metadata() for model, one in op.usage_by_model.items()},
        semconv.DECISION_COUNTS: dict(Counter(op.run.decisions)),
    }
