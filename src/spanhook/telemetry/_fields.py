"""An operation's identity, usage and decisions, under the names of the conventions and our own.

Spans and log events both use them; they differ in what they leave out.
"""

from typing import Any

from spanhook import semconv
from spanhook.model import DecisionRecord, Identity, Record, Usage
from spanhook.telemetry._concealing import told
from spanhook.telemetry.naming import Naming


def whose(attributes: dict[str, Any], identity: Identity) -> None:
    """Add the identity, as far as it is known."""
    if identity.session_id:
        attributes[semconv.SESSION_ID] = attributes[semconv.GEN_AI_CONVERSATION_ID] = identity.session_id
    if identity.user_id:
        attributes[semconv.USER_ID] = identity.user_id
    if identity.tenant_id:
        attributes[semconv.TENANT_ID] = identity.tenant_id


def used_itself(attributes: dict[str, Any], used: Usage, naming: Naming, *, generates: bool) -> None:
    """Add a model call's own usage, under the conventions' names.

    Args:
        generates: Whether this sort of call generates tokens.
    """
    attributes[semconv.GEN_AI_USAGE_INPUT_TOKENS] = used.input_tokens
    if not generates:
        _exact(attributes, used)
        return
    attributes[semconv.GEN_AI_USAGE_OUTPUT_TOKENS] = used.output_tokens
    if used.cache_read_tokens:
        attributes[semconv.GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS] = used.cache_read_tokens
    if used.cache_write_tokens:
        for name in naming.cache_write:
            attributes[name] = used.cache_write_tokens
    if used.reasoning_tokens:
        attributes[semconv.GEN_AI_USAGE_REASONING_OUTPUT_TOKENS] = used.reasoning_tokens
    _exact(attributes, used)


def used_inside(attributes: dict[str, Any], used: Usage, *, zeros: bool) -> None:
    """Add the usage of everything inside, under names of ours, so that sums over spans do not count it twice.

    Args:
        zeros: Whether to include token counts of zero.
    """
    attributes[semconv.USAGE_INPUT_TOKENS] = used.input_tokens
    attributes[semconv.USAGE_OUTPUT_TOKENS] = used.output_tokens
    if used.cache_read_tokens or zeros:
        attributes[semconv.USAGE_CACHE_READ_TOKENS] = used.cache_read_tokens
    if used.cache_write_tokens or zeros:
        attributes[semconv.USAGE_CACHE_WRITE_TOKENS] = used.cache_write_tokens
    if used.reasoning_tokens or zeros:
        attributes[semconv.USAGE_REASONING_TOKENS] = used.reasoning_tokens
    if used.unpriced_tokens or zeros:
        attributes[semconv.USAGE_UNPRICED_TOKENS] = used.unpriced_tokens
    attributes[semconv.LLM_CALLS] = used.llm_calls
    attributes[semconv.TOOL_CALLS] = used.tool_calls
    _exact(attributes, used)


def _exact(attributes: dict[str, Any], used: Usage) -> None:
    """Add the cost, and how far the usage can be trusted."""
    if used.source == "estimate":
        attributes[semconv.USAGE_ESTIMATED] = True
    if used.uncounted:
        attributes[semconv.USAGE_UNCOUNTED] = used.uncounted
    if used.cost_nano is not None:
        attributes[semconv.COST_USD] = used.cost_usd


def waited_s(op: Record) -> float | None:
    """Seconds from a streaming model call to its first chunk; ``None`` if no model streamed any."""
    if not op.stream.first_chunk_ns or not op.called or not op.attributes.get(semconv.GEN_AI_REQUEST_STREAM):
        return None
    return (op.stream.first_chunk_ns - (op.stream.asked_ns or op.start_ns)) / 1e9


def decided(op: Record, decision: DecisionRecord, in_full: bool) -> dict[str, Any]:
    """The attributes of a decision, the same wherever it is reported."""
    attributes: dict[str, Any] = {
        semconv.HOOK: decision.hook,
        semconv.EVENT: decision.event,
        semconv.DECISION: decision.decision,
        semconv.DECISION_REASON: told(op, decision.reason, in_full),
        semconv.FAIL_MODE: decision.fail_mode,
        semconv.HOOK_DURATION: decision.duration_ns / 1e9,
    }
    if decision.status_code:
        attributes[semconv.STATUS_CODE] = decision.status_code
    return {**decision.facts, **attributes} if decision.facts else attributes
