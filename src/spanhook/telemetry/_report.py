"""What is told about an operation that has ended: the end of its span, the histograms, the log events."""

from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.errors import Reject
from spanhook.model import (
    DecisionRecord,
    Identity,
    Record,
    described,
    disclosed,
    encodable,
    exception_name,
    make_encodable,
    stack,
    words,
)
from spanhook.telemetry import _content, _events, _fields
from spanhook.telemetry._lean_span import fill
from spanhook.telemetry.metrics import Instruments
from spanhook.telemetry.pipeline import Telemetry

#: What identifies a model call on metrics, beside its error.
_CLIENT_ATTRIBUTES = (
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_PROVIDER_NAME,
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
)


def report(op: Record, telemetry: Telemetry) -> None:
    """End the span of ``op``, record its histograms and emit its events; what fails of it costs none of the rest.

    What an interrupt has stopped is gone on with when it is called again.
    """
    failed = None
    try:
        _report(op, telemetry)
    except Exception as error:
        failed = error
    if not op.foreign and (not op.resumed or op.span.is_recording()):
        op.span.end(op.end_time_ns)
    if failed is not None:
        raise failed


def _report(op: Record, telemetry: Telemetry) -> None:
    span, logger, instruments = op.span, telemetry.logger, telemetry.live()
    kept = None
    if telemetry.span_content or (telemetry.event_content and logger is not None):
        kept = _content.captured(op)
    try:
        if not op.described and span.is_recording():
            _describe(op, kept if telemetry.span_content else None, telemetry.error_messages)
    except Exception as error:
        internal.report("report.span", error, lost=1)
    op.described = True
    if instruments is None and logger is None:
        return
    context, error_type = set_span_in_context(span), _error_type(op) if op.phase == "error" else None
    if instruments is not None and not op.foreign and not op.measured:
        try:
            op.measured = True
            _measure(op, instruments, context, error_type)
        except Exception as error:
            internal.report("report.metrics", error, lost=1)
    if logger is not None:
        _events.tell(op, logger, context, telemetry.settings.mode, error_type, telemetry.error_messages)
        if kept and telemetry.event_content:
            details = _client(op, None), _content.as_body(kept)
            _events.emit(op, len(op.decisions) + 1, logger, context, semconv.EVENT_INFERENCE_DETAILS, *details)


def _describe(op: Record, kept: dict[str, Any] | None, in_full: bool) -> None:
    """What the span is to say of an operation that has ended; of exceptions only ``in_full`` what they say."""
    span = op.span
    attributes = _end_attributes(op, in_full)
    if kept:
        attributes.update(_content.as_text(kept))
    fill(span, attributes, plain=not op.odd)
    if op.decisions:
        _tell_decisions(op, in_full)
    if op.phase == "error" and op.status != "cancelled":
        _fail(op, in_full)


def _end_attributes(op: Record, in_full: bool) -> dict[str, Any]:
    """The one dict of attributes known at the end."""
    identity = op.identity
    attributes: dict[str, Any] = {semconv.KIND: op.kind, semconv.STATUS: op.status, semconv.RUN_ID: identity.run_id}
    if op.end_attributes:
        attributes.update(op.end_attributes)
    if identity.tenant_id or identity.user_id or identity.session_id or identity.attributes:
        _identified(attributes, op, identity)
    if op.coverage is not None:
        attributes[semconv.COVERAGE] = op.coverage
    if op.first_chunk_ns:
        attributes[semconv.GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK] = (op.first_chunk_ns - op.start_ns) / 1e9
    used = op.own_usage
    if used is not None:
        _fields.used_itself(attributes, used, generates=op.kind == "llm.call")
    elif op.leaves is not None:
        _fields.used_inside(attributes, op.usage, zeros=False)
    if op.in_hook:
        attributes[semconv.IN_HOOK] = True
    if op.modified:
        attributes[semconv.MODIFIED] = op.modified
    if op.decisions:
        attributes.update(_decided(op, in_full))
    return attributes


def _decided(op: Record, in_full: bool) -> dict[str, Any]:
    """The decision that the span of an operation is marked with."""
    decision = _decisive(op)
    return {
        semconv.DECISION: decision.decision,
        semconv.DECISION_HOOK: decision.hook,
        semconv.DECISION_REASON: disclosed(decision.reason, in_full),
    }


def _tell_decisions(op: Record, in_full: bool) -> None:
    for decision in op.decisions[op.marked :]:
        attributes = _fields.decided(decision, in_full)
        op.marked += 1
        op.span.add_event(semconv.EVENT_DECISION, attributes, decision.time_ns)


def mark(op: Record, telemetry: Telemetry) -> None:
    """Say on a span that stays its owner's what was decided; once its owner ends it, nothing can be added."""
    if op.decisions and op.span.is_recording():
        fill(op.span, _decided(op, telemetry.error_messages))
        _tell_decisions(op, telemetry.error_messages)


def _identified(attributes: dict[str, Any], op: Record, identity: Identity) -> None:
    _fields.whose(attributes, identity)
    if identity.attributes:
        attributes.update(identity.attributes)
    if not make_encodable(attributes):
        op.odd = True


def _decisive(op: Record) -> DecisionRecord:
    """Of several decisions, the one that the operation's span is marked with: that which refused it, else the last."""
    if op.decided:
        for decision in reversed(op.decisions):
            if decision.decision in ("reject", "attempted", "timeout", "error", "too_late"):
                return decision
    return op.decisions[-1]


def _fail(op: Record, in_full: bool) -> None:
    error, span = op.error, op.span
    assert error is not None
    span.set_attribute(semconv.ERROR_TYPE, _error_type(op))
    if isinstance(error, Reject):
        span.set_status(Status(StatusCode.ERROR, encodable(error.reason)))
        return
    attributes = {semconv.EXCEPTION_TYPE: exception_name(error)}
    if in_full:
        attributes[semconv.EXCEPTION_MESSAGE] = encodable(words(error))
    attributes[semconv.EXCEPTION_STACKTRACE] = encodable(stack(error, in_full=in_full))
    span.set_status(Status(StatusCode.ERROR, encodable(described(error, in_full=in_full))))
    span.add_event(semconv.EVENT_EXCEPTION, attributes)


def _error_type(op: Record) -> str:
    assert op.error is not None
    if isinstance(op.error, Reject):
        return exception_name(Reject())  # of subclasses too: dashboards tell refusals from failures by it
    try:
        return encodable(op.adapter.error_type(op.error))
    except Exception as failure:
        internal.report("extract.error_type", failure)
        return type(op.error).__name__


def _client(op: Record, error_type: str | None) -> dict[str, Any]:
    found = {key: op.attributes[key] for key in _CLIENT_ATTRIBUTES if key in op.attributes}
    answered = (op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL)
    if answered:
        found[semconv.GEN_AI_RESPONSE_MODEL] = answered
    if error_type:
        found[semconv.ERROR_TYPE] = error_type
    return found


def _measure(op: Record, instruments: Instruments, context: Context, error_type: str | None) -> None:
    """Record the histograms; ``context`` links exemplars to the trace."""
    seconds = (op.end_ns - op.start_ns) / 1e9
    if op.kind in ("llm.call", "embeddings.create"):
        attributes = _client(op, error_type)
        instruments.duration.record(seconds, attributes, context)
        if op.first_chunk_ns:
            instruments.first_chunk.record((op.first_chunk_ns - op.start_ns) / 1e9, attributes, context)
        used = op.own_usage
        if used is not None and not used.incomplete:
            # not popped: the SDK may keep the dict it was given
            attributes = {key: value for key, value in attributes.items() if key != semconv.ERROR_TYPE}
            instruments.tokens.record(used.input_tokens, {**attributes, semconv.GEN_AI_TOKEN_TYPE: "input"}, context)
            if op.kind == "llm.call":
                output = {**attributes, semconv.GEN_AI_TOKEN_TYPE: "output"}
                instruments.tokens.record(used.output_tokens, output, context)
    elif op.kind in ("agent.invoke", "tool.execute"):
        is_tool = op.kind == "tool.execute"
        attributes = {
            semconv.GEN_AI_TOOL_NAME if is_tool else semconv.GEN_AI_AGENT_NAME: op.name or semconv.OTHER,
            semconv.STATUS: op.status,
        }
        if error_type:
            attributes[semconv.ERROR_TYPE] = error_type
        (instruments.tool if is_tool else instruments.agent).record(seconds, attributes, context)
    if op.parent is None:
        used = op.usage
        attributes = {semconv.GEN_AI_AGENT_NAME: op.agent, semconv.STATUS: op.status}
        if not op.agent:
            del attributes[semconv.GEN_AI_AGENT_NAME]
        instruments.llm_calls.record(used.llm_calls, attributes, context)
        instruments.tool_calls.record(used.tool_calls, attributes, context)
