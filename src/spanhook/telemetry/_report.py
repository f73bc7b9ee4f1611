"""Reports an operation that has ended: its span's end, the histograms, the log events."""

from typing import Any

from opentelemetry._logs import SeverityNumber
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.errors import Reject
from spanhook.model import (
    NO_DECISIONS,
    NO_ENDING,
    DecisionRecord,
    EndDetails,
    Identity,
    Record,
    described,
    encodable,
    exception_name,
    make_encodable,
    stack,
    words,
)
from spanhook.telemetry import _content, _events, _fields
from spanhook.telemetry._concealing import concealed, concealed_content, told
from spanhook.telemetry._lean_span import LeanSpan, check, fill
from spanhook.telemetry._measure import measure
from spanhook.telemetry.pipeline import Telemetry

_NAMED = ("tool.execute", "agent.delegate")
"""Kinds of operations that may have several names."""


def report(op: Record, telemetry: Telemetry) -> None:
    """End the span of ``op``, record its histograms and emit its events; a failure in one does not affect the others.

    If an interrupt stopped it, calling it again continues where it stopped.
    """
    failed = kept = None
    span, logger = op.span, telemetry.logger
    try:
        if telemetry.content:
            kept = concealed_content(op, _content.captured(op))
        if not op.recorded:
            try:
                if span._end_time is None if type(span) is LeanSpan else span.is_recording():
                    _describe(op, kept, telemetry)
            except Exception as error:
                internal.report("report.span", error, lost=1)
            op.recorded = 1
        if telemetry.instruments is not None or logger is not None:
            _measure_and_tell(op, kept, telemetry)
    except Exception as error:
        failed = error
    if not op.foreign and (not op.resumed or span.is_recording()):
        span.end(op.end_time_ns)
    if failed is not None:
        raise failed


def _measure_and_tell(op: Record, kept: dict[str, Any] | None, telemetry: Telemetry) -> None:
    """Record the histograms and emit the log events, if there are providers."""
    logger, instruments = telemetry.logger, telemetry.live()
    error_type = _error_type(op) if op.phase == "error" else op.ending.fault or None
    if instruments is not None and not op.foreign and op.recorded < 2:
        try:
            op.recorded = 2
            measure(op, instruments.histograms, telemetry.naming, error_type)
        except Exception as error:
            internal.report("report.metrics", error, lost=1)
    if logger is not None:
        context = set_span_in_context(op.span)
        _events.tell(op, logger, context, error_type, telemetry.error_messages)
        number, newest = len(op.decided.records) + 1, telemetry.naming.newest
        if kept and telemetry.event_content and op.attributes.get(semconv.GEN_AI_OPERATION_NAME) in semconv.INFERENCE:
            details = {**op.attributes, **_end_attributes(op, telemetry, {}), **_content.structured(kept)}
            if _has_failed(op):
                details[semconv.ERROR_TYPE] = _error_type(op)
            severity = SeverityNumber.DEBUG if newest else SeverityNumber.INFO
            _events.emit(op, number, logger, context, semconv.EVENT_INFERENCE_DETAILS, details, severity=severity)
        if newest and _has_failed(op) and op.error is not None and not op.foreign and not isinstance(op.error, Reject):
            is_client = op.adapter.span_kind is SpanKind.CLIENT
            name = semconv.EVENT_CLIENT_EXCEPTION if is_client else semconv.EVENT_INTERNAL_EXCEPTION
            failure = _exception(op, telemetry.error_messages)
            _events.emit(op, number + 1, logger, context, name, failure, severity=SeverityNumber.WARN)


def _describe(op: Record, kept: dict[str, Any] | None, telemetry: Telemetry) -> None:
    """Complete the span of an operation that has ended."""
    span = op.span
    attributes = _end_attributes(op, telemetry, span._attributes if type(span) is LeanSpan else {})
    if kept and telemetry.span_content:
        attributes.update(_content.as_text(kept))
    if kept is not None and telemetry.values:
        attributes.update(concealed_content(op, _content.as_values(op, kept)))
    if type(span) is not LeanSpan:  # or no longer: another thread has completed it meanwhile
        span.set_attributes(attributes)
    if op.__dict__:
        ending = op.ending
        if ending is not NO_ENDING:
            if ending.needs_encoding and type(span) is LeanSpan:
                check(span)
            for name, noted, time_ns in ending.events:
                span.add_event(name, noted, time_ns)
        if op.decided is not NO_DECISIONS:
            _tell_decisions(op, telemetry.error_messages)
        if ending.fault:
            _fail(op, telemetry)
            return
    if op.phase == "error" and op.status != "cancelled":
        _fail(op, telemetry)


def _has_failed(op: Record) -> bool:
    return (op.phase == "error" and op.status != "cancelled") or bool(op.ending.fault)


def _end_attributes(op: Record, telemetry: Telemetry, attributes: dict[str, Any]) -> dict[str, Any]:
    """Add what is known at the end to ``attributes``, which it returns."""
    identity, few_have = op.identity, op.__dict__
    if few_have and op.inner.attributes is not None:
        told = op.attributes
        below = telemetry.naming.told(op.kind, op.inner.attributes)
        attributes.update([(name, value) for name, value in below.items() if name not in told])
    attributes[semconv.KIND] = op.kind
    attributes[semconv.STATUS] = op.status
    attributes[semconv.RUN_ID] = identity[3]
    if op.end_attributes:
        attributes.update(op.end_attributes)
    if identity[0] or identity[1] or identity[2] or identity[5]:
        _identified(attributes, op, identity)
    if op.coverage is not None:
        attributes[semconv.COVERAGE] = op.coverage
    used = op.own_usage
    if used is not None:
        _fields.used_itself(attributes, used, telemetry.naming, generates=op.kind == "llm.call")
    elif op.leaves is not None:
        _fields.used_inside(attributes, op.totals(), zeros=False)
    if telemetry.naming.newest and semconv.GEN_AI_RESPONSE_FINISH_REASONS not in attributes and _broke_off(op):
        choices = op.attributes.get(semconv.GEN_AI_REQUEST_CHOICE_COUNT, 1)
        attributes[semconv.GEN_AI_RESPONSE_FINISH_REASONS] = ("error",) * (choices if 0 < choices <= 128 else 1)
    if (
        op.adapter.reading.names is not None
        and "block" not in op.adapter.traits
        and op.kind in _NAMED
        and len(names := _names(op)) > 1
    ):
        attributes[semconv.NAMES] = tuple(map(encodable, names))
    if op.agent and op.kind == "tool.execute":
        attributes[semconv.GEN_AI_AGENT_NAME] = op.agent
    if few_have:
        _note_what_few_have(attributes, op, telemetry)
    return attributes


def _note_what_few_have(attributes: dict[str, Any], op: Record, telemetry: Telemetry) -> None:
    if op.stream.first_chunk_ns and (waited := _fields.waited_s(op)) is not None:
        attributes[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = waited
    if op.in_hook:
        attributes[semconv.IN_HOOK] = True
    decided = op.decided
    if decided.modified:
        attributes[semconv.MODIFIED] = decided.modified
    if decided.records:
        attributes.update(_decided(op, telemetry.error_messages))


def _names(op: Record) -> tuple[str, ...]:
    try:
        return op.names or ()
    except Exception as error:
        internal.report("extract.names", error)
        return ()


def _broke_off(op: Record) -> bool:
    """Whether a model was called and its answer is incomplete, whatever stopped it."""
    is_inference = op.attributes.get(semconv.GEN_AI_OPERATION_NAME) in semconv.INFERENCE
    return is_inference and op.called and op.status in ("error", "cancelled", "abandoned")


def _decided(op: Record, in_full: bool) -> dict[str, Any]:
    """The attributes of the decision that an operation's span is marked with."""
    decision = _decisive(op)
    return {
        semconv.DECISION: decision.decision,
        semconv.DECISION_HOOK: decision.hook,
        semconv.DECISION_REASON: told(op, decision.reason, in_full),
    }


def _tell_decisions(op: Record, in_full: bool) -> None:
    for decision in op.decided.records[op.marked :]:
        attributes = _fields.decided(op, decision, in_full)
        op.marked += 1
        op.span.add_event(semconv.EVENT_DECISION, attributes, decision.time_ns)


def mark(op: Record, telemetry: Telemetry) -> None:
    """Record decisions on a span that belongs to another instrumentation; nothing can be added once its owner ends
    it.
    """
    if op.decided.records and op.span.is_recording():
        fill(op.span, _decided(op, telemetry.error_messages))
        _tell_decisions(op, telemetry.error_messages)


def report_decision(op: Record, decision: DecisionRecord, telemetry: Telemetry) -> None:
    """Emit the log event of one decision, before or after ``op`` has ended; its span is left alone."""
    if telemetry.logger is not None:
        context = set_span_in_context(op.span)
        _events.decided(op, decision, telemetry.logger, context, telemetry.error_messages)


def _identified(attributes: dict[str, Any], op: Record, identity: Identity) -> None:
    _fields.whose(attributes, identity)
    if identity.attributes:
        attributes.update(identity.attributes)
    if not make_encodable(attributes):
        op.part(EndDetails).needs_encoding = True


def _decisive(op: Record) -> DecisionRecord:
    """Of several decisions, the one that marks the operation's span: the refusal if there is one, else the last."""
    if op.decided.refused:
        for decision in reversed(op.decided.records):
            if decision.decision in ("reject", "attempted", "timeout", "error", "too_late"):
                return decision
    return op.decided.records[-1]


def _fail(op: Record, telemetry: Telemetry) -> None:
    error, span, in_full = op.error, op.span, telemetry.error_messages
    span.set_attribute(semconv.ERROR_TYPE, _error_type(op))
    if error is None:
        span.set_status(Status(StatusCode.ERROR))
        return
    if isinstance(error, Reject):
        span.set_status(Status(StatusCode.ERROR, concealed(op, encodable(error.reason))))
        return
    span.set_status(Status(StatusCode.ERROR, concealed(op, encodable(described(error, in_full=in_full)))))
    if telemetry.naming.older:
        span.add_event(semconv.EVENT_EXCEPTION, _exception(op, in_full))


def _exception(op: Record, in_full: bool) -> dict[str, Any]:
    """The attributes of an exception event; the exception's message only if ``in_full``."""
    error = op.error
    assert error is not None
    attributes = {semconv.EXCEPTION_TYPE: exception_name(error)}
    if in_full:
        attributes[semconv.EXCEPTION_MESSAGE] = concealed(op, encodable(words(error)))
    attributes[semconv.EXCEPTION_STACKTRACE] = concealed(op, encodable(stack(error, in_full=in_full)))
    return attributes


def _error_type(op: Record) -> str:
    if op.error is None:
        return encodable(op.ending.fault)
    if isinstance(op.error, Reject):
        return exception_name(Reject())  # for subclasses too: dashboards use it to tell refusals from failures
    try:
        return encodable(op.adapter.reading.error_type(op.error))
    except Exception as failure:
        internal.report("extract.error_type", failure)
        return type(op.error).__name__
