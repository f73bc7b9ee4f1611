"""Records an ended operation on the histograms and on the newest conventions' counters."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.model import Record
from spanhook.telemetry._fields import waited_s
from spanhook.telemetry._histograms import Histograms
from spanhook.telemetry.naming import Naming

#: What identifies a model call on metrics, besides the answering model and the error.
_CLIENT_ATTRIBUTES = (
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_PROVIDER_NAME,
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
)
_HELD = (semconv.GEN_AI_OPERATION_NAME, semconv.GEN_AI_PROVIDER_NAME, semconv.GEN_AI_REQUEST_MODEL)
_MCP_ATTRIBUTES = (
    semconv.MCP_METHOD_NAME,
    semconv.MCP_PROTOCOL_VERSION,
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_TOOL_NAME,
    semconv.GEN_AI_PROMPT_NAME,
    semconv.NETWORK_TRANSPORT,
    semconv.NETWORK_PROTOCOL_NAME,
)
_ANSWERED = (semconv.GEN_AI_RESPONSE_MODEL, semconv.OPENAI_RESPONSE_SERVICE_TIER)
"""What identifies the answer on metrics, if it is reported. A fingerprint changes with each deployment, so only spans
have it."""


def measure(op: Record, histograms: Histograms, naming: Naming, context: Context, error_type: str | None) -> None:
    """Record an operation; ``context`` links exemplars to the trace."""
    kind = op.kind
    if kind in ("llm.call", "embeddings.create"):
        if op.called:  # calls that a hook answered or refused say nothing about the provider
            _call(op, histograms, naming, context, error_type)
    elif kind == "tool.execute" and not op.serves:
        _execution(op, histograms, context, error_type)
    elif kind == "agent.invoke":
        histograms.agent.record(_seconds(op), _ended(op, semconv.GEN_AI_AGENT_NAME, error_type), context)
    elif kind == "run":
        histograms.workflow.record(_seconds(op), _ended(op, semconv.GEN_AI_WORKFLOW_NAME, error_type), context)
    if op.called and semconv.MCP_METHOD_NAME in op.attributes:
        _mcp(op, histograms, context, error_type)
    if kind == "agent.invoke" or op.parent is None:
        _inside(op, histograms, context)


def _execution(op: Record, histograms: Histograms, context: Context, error_type: str | None) -> None:
    attributes = _ended(op, semconv.GEN_AI_TOOL_NAME, error_type)
    if op.agent:
        attributes[semconv.GEN_AI_AGENT_NAME] = op.agent
    tool_type = op.attributes.get(semconv.GEN_AI_TOOL_TYPE)
    if tool_type:
        attributes[semconv.GEN_AI_TOOL_TYPE] = tool_type
    histograms.tool.record(_seconds(op), attributes, context)


def _mcp(op: Record, histograms: Histograms, context: Context, error_type: str | None) -> None:
    """Record a request of the Model Context Protocol that was made, or served."""
    attributes = {key: op.attributes[key] for key in _MCP_ATTRIBUTES if key in op.attributes}
    if error_type and not isinstance(op.error, Reject):
        attributes[semconv.ERROR_TYPE] = error_type
        code = (op.end_attributes or {}).get(semconv.RPC_RESPONSE_STATUS_CODE)
        if code:
            attributes[semconv.RPC_RESPONSE_STATUS_CODE] = code
    is_client = op.adapter.span_kind is SpanKind.CLIENT
    (histograms.mcp_client if is_client else histograms.mcp_server).record(_seconds(op), attributes, context)


def _inside(op: Record, histograms: Histograms, context: Context) -> None:
    """Record how many calls were made inside an agent, and inside an outermost operation."""
    used = op.usage
    if op.kind == "agent.invoke":
        whose = {semconv.GEN_AI_AGENT_NAME: op.name or semconv.OTHER}
        histograms.agent_llm_calls.record(used.llm_calls, whose, context)
        histograms.agent_tool_calls.record(used.tool_calls, whose, context)
    if op.parent is None:
        attributes: dict[str, Any] = {semconv.STATUS: op.status}
        if op.agent:
            attributes[semconv.GEN_AI_AGENT_NAME] = op.agent
        histograms.llm_calls.record(used.llm_calls, attributes, context)
        histograms.tool_calls.record(used.tool_calls, attributes, context)


def _seconds(op: Record) -> float:
    return (op.end_ns - op.start_ns) / 1e9


def _ended(op: Record, name: str, error_type: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {name: op.name or semconv.OTHER, semconv.STATUS: op.status}
    if error_type:
        attributes[semconv.ERROR_TYPE] = error_type
    return attributes


def _call(op: Record, histograms: Histograms, naming: Naming, context: Context, error_type: str | None) -> None:
    """Record a model call that was made. One that a hook refused afterwards has not failed."""
    whose = _client(op)
    attributes = whose
    if error_type and not isinstance(op.error, Reject):
        attributes = {**whose, semconv.ERROR_TYPE: error_type}
    seconds, is_inference = _seconds(op), whose.get(semconv.GEN_AI_OPERATION_NAME) in semconv.INFERENCE
    if naming.older or not is_inference:
        histograms.duration.record(seconds, attributes, context)
    if naming.newest and is_inference:
        histograms.inference.record(seconds, attributes, context)
    waited = waited_s(op)
    if waited is not None:
        if naming.older:
            histograms.first_chunk.record(waited, whose, context)
        if naming.newest and is_inference:
            histograms.inference_first_chunk.record(waited, whose, context)
        _chunks(op, histograms, naming.older, naming.newest and is_inference, whose, context)
        if op.buffered:
            by = {name: whose[name] for name in _HELD if name in whose}
            histograms.held.record((op.end_ns - op.first_chunk_ns) / 1e9, by, context)
    used = op.own_usage
    if used is None or used.incomplete or used.estimated:
        return  # the conventions exclude estimates that were not requested
    if naming.older:
        histograms.tokens.record(used.input_tokens, {**whose, semconv.GEN_AI_TOKEN_TYPE: "input"}, context)
        if op.kind == "llm.call":
            histograms.tokens.record(used.output_tokens, {**whose, semconv.GEN_AI_TOKEN_TYPE: "output"}, context)
    if naming.newest and is_inference:
        histograms.input_tokens.record(used.input_tokens, whose, context)
        histograms.output_tokens.record(used.output_tokens, whose, context)
        sorted_by = {**whose, semconv.GEN_AI_TOKEN_MODALITY: "unknown"}  # required, but not reported for all tokens
        for amount, add in (
            (used.input_tokens, histograms.add_input),
            (used.output_tokens, histograms.add_output),
            (used.cache_read_tokens, histograms.add_cache_read),
            (used.cache_write_tokens, histograms.add_cache_write),
            (used.reasoning_tokens, histograms.add_reasoning),
        ):
            if amount:
                add(amount, sorted_by, context)


def _chunks(
    op: Record, histograms: Histograms, older: bool, newest: bool, whose: dict[str, Any], context: Context
) -> None:
    before = op.first_chunk_ns
    for came in op.later_chunks_ns or ():
        seconds, before = (came - before) / 1e9, came
        if older:
            histograms.per_chunk.record(seconds, whose, context)
        if newest:
            histograms.inference_per_chunk.record(seconds, whose, context)


def _client(op: Record) -> dict[str, Any]:
    """The attributes of a model call: requested model, server and answering model."""
    told: Mapping[str, Any] = op.attributes
    found = {key: told[key] for key in _CLIENT_ATTRIBUTES if key in told}
    below = op.below
    if below is not None:
        for key in (semconv.SERVER_ADDRESS, semconv.SERVER_PORT):
            if key in below and key not in found:
                found[key] = below[key]
    answered = op.end_attributes
    if answered:
        for key in _ANSWERED:
            if answered.get(key):
                found[key] = answered[key]
    return found
