"""The log events about an operation that has ended; no sampler touches them.

Each is emitted by itself: one that cannot be costs none of the others.
"""

from collections import Counter
from typing import Any

from opentelemetry._logs import Logger, LogRecord, SeverityNumber
from opentelemetry.context import Context

from spanhook import semconv
from spanhook.decision import DecisionRecord
from spanhook.encoding import make_encodable
from spanhook.errors import internal
from spanhook.failures import told
from spanhook.record import Record


def tell(op: Record, logger: Logger, context: Context, mode: str, error_type: str | None, in_full: bool) -> None:
    """One event for each decision, and one for a run that has ended.

    Args:
        op: What they are about.
        logger: Where they go.
        context: With the span of ``op`` in it.
        mode: How hooks are in force.
        error_type: What ``op`` failed with, if it did.
        in_full: Whether exceptions are told with their own words.
    """
    for number, decision in enumerate(op.decisions):
        emit(op, number, logger, context, semconv.EVENT_DECISION, _decided(op, decision, mode, in_full))
    if op.parent is None:
        emit(op, len(op.decisions), logger, context, semconv.EVENT_RUN, _ran(op, error_type), _body(op))


def emit(
    op: Record, number: int, logger: Logger, context: Context, name: str, attributes: dict[str, Any], body: Any = None
) -> None:
    """Emit one event about ``op``, unless it has been; if it cannot be, that is counted.

    Args:
        number: Which of those about ``op`` it is, in the order in which they are emitted.
    """
    if number < op.emitted:
        return
    make_encodable(attributes)
    record = LogRecord(
        context=context,
        severity_number=SeverityNumber.INFO,
        event_name=name,
        attributes=attributes,
        body=body,
    )
    op.emitted = number + 1
    try:
        logger.emit(record)
    except Exception as error:
        internal.report("report.event", error, lost=1)


def decision_attributes(decision: DecisionRecord, in_full: bool) -> dict[str, Any]:
    """What a decision is, wherever it is told of."""
    attributes: dict[str, Any] = {
        semconv.HOOK: decision.hook,
        semconv.EVENT: decision.event,
        semconv.DECISION: decision.decision,
        semconv.DECISION_REASON: told(decision.reason, in_full),
        semconv.FAIL_MODE: decision.fail_mode,
        semconv.HOOK_DURATION: decision.duration_ns / 1e9,
    }
    if decision.status_code:
        attributes[semconv.STATUS_CODE] = decision.status_code
    return attributes


def _who(op: Record) -> dict[str, Any]:
    identity = op.identity
    known = {
        semconv.RUN_ID: identity.run_id,
        semconv.TENANT_ID: identity.tenant_id,
        semconv.USER_ID: identity.user_id,
        semconv.SESSION_ID: identity.session_id,
        semconv.GEN_AI_CONVERSATION_ID: identity.session_id,
        semconv.GEN_AI_AGENT_NAME: identity.agent_id,
    }
    return {key: value for key, value in known.items() if value}


def _decided(op: Record, decision: DecisionRecord, mode: str, in_full: bool) -> dict[str, Any]:
    return {
        **decision_attributes(decision, in_full),
        **_who(op),
        semconv.KIND: op.kind,
        semconv.TARGET: op.name,
        semconv.MODE: mode,
        semconv.COVERAGE: op.coverage or "enforced",
    }


def _ran(op: Record, error_type: str | None) -> dict[str, Any]:
    used = op.usage
    attributes: dict[str, Any] = {
        **_who(op),
        semconv.KIND: op.kind,
        semconv.TARGET: op.name,
        semconv.STATUS: op.status,
        semconv.DURATION: (op.end_ns - op.start_ns) / 1e9,
        semconv.USAGE_INPUT_TOKENS: used.input_tokens,
        semconv.USAGE_OUTPUT_TOKENS: used.output_tokens,
        semconv.USAGE_CACHE_READ_TOKENS: used.cache_read_tokens,
        semconv.USAGE_CACHE_WRITE_TOKENS: used.cache_write_tokens,
        semconv.USAGE_REASONING_TOKENS: used.reasoning_tokens,
        semconv.USAGE_UNPRICED_TOKENS: used.unpriced_tokens,
        semconv.LLM_CALLS: used.llm_calls,
        semconv.TOOL_CALLS: used.tool_calls,
    }
    if used.estimated:
        attributes[semconv.USAGE_ESTIMATED] = True
    if used.uncounted:
        attributes[semconv.USAGE_UNCOUNTED] = used.uncounted
    if used.cost_usd is not None:
        attributes[semconv.COST_USD] = used.cost_usd
    if error_type:
        attributes[semconv.ERROR_TYPE] = error_type
    attributes[semconv.DECISION_COUNTS] = len(op.run_decisions or ())
    return attributes


def _body(op: Record) -> dict[str, Any]:
    return {
        semconv.USAGE_BY_MODEL: {model: one.as_metadata() for model, one in op.usage_by_model.items()},
        semconv.DECISION_COUNTS: dict(Counter(op.run_decisions or ())),
    }
