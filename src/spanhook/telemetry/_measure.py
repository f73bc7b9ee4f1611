"""Records an ended operation on the histograms and on the newest conventions' counters.

Each function identifies what it records by a key, so that attributes are built only the first time.
"""

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import SpanKind

from spanhook import semconv
from spanhook.errors import Reject
from spanhook.model import Record, Usage
from spanhook.telemetry._fields import waited_s
from spanhook.telemetry._histograms import Histograms
from spanhook.telemetry._measurements import Described, Where
from spanhook.telemetry.naming import Naming

_WHOSE = (
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_PROVIDER_NAME,
    semconv.GEN_AI_REQUEST_MODEL,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
    semconv.GEN_AI_RESPONSE_MODEL,
    semconv.OPENAI_RESPONSE_SERVICE_TIER,
)
"""What identifies a model call and its answer on metrics, besides the error. A fingerprint changes with each
deployment, so only spans have it."""
_HELD = _WHOSE[:3]
_MCP_ATTRIBUTES = (
    semconv.MCP_METHOD_NAME,
    semconv.MCP_PROTOCOL_VERSION,
    semconv.GEN_AI_OPERATION_NAME,
    semconv.GEN_AI_TOOL_NAME,
    semconv.GEN_AI_PROMPT_NAME,
    semconv.NETWORK_TRANSPORT,
    semconv.NETWORK_PROTOCOL_NAME,
)
_NOTHING: Mapping[str, Any] = {}

Run = tuple[tuple[str, ...], tuple[int, ...]]
"""Of an outermost operation: what identifies it on metrics, and how many models and tools were called in it."""
_NO_RUN: Run = (), ()


def measure(op: Record, histograms: Histograms, naming: Naming, error_type: str | None) -> None:
    """Record an operation; its span links exemplars to the trace."""
    kind, where = op.kind, histograms.measurements.sample(op.span)
    run = ((op.status, op.agent), _inside(op)) if op.parent is None else _NO_RUN
    if op.called and semconv.MCP_METHOD_NAME in op.attributes:
        _mcp(op, histograms, where, error_type)
    if kind in ("llm.call", "embeddings.create"):
        if op.called:  # calls that a hook answered or refused say nothing about the provider
            _call(op, histograms, where, naming, error_type, run)
            return
    elif kind == "tool.execute":
        if not op.serves:
            _execution(op, histograms, where, error_type, run)
            return
    elif kind == "agent.invoke":
        _agent(op, histograms, where, error_type, run)
        return
    elif kind == "run":
        values, name = (_seconds(op), *run[1]), semconv.GEN_AI_WORKFLOW_NAME
        histograms.measurements.put(
            ("workflow", op.name, op.status, error_type, run[0]),
            where,
            values,
            lambda: [(histograms.workflow, _outcome(op, name, error_type)), *_of_run(op, histograms, run)],
        )
        return
    if run is not _NO_RUN:
        histograms.measurements.put(("run", run[0]), where, run[1], lambda: _of_run(op, histograms, run))


def _inside(op: Record) -> tuple[int, int]:
    """How many models and tools were called inside, itself included."""
    if op.leaves is None and op.own_usage is None and op.kind == "tool.execute":  # needs no sums
        return 0, int(op.called and not op.in_hook)
    used = op.usage
    return used.llm_calls, used.tool_calls


def _of_run(op: Record, histograms: Histograms, run: Run) -> Described:
    """What is recorded of an outermost operation besides: how many calls were made inside it."""
    if run is _NO_RUN:
        return []
    attributes: dict[str, Any] = {semconv.STATUS: op.status}
    if op.agent:
        attributes[semconv.GEN_AI_AGENT_NAME] = op.agent
    return [(histograms.llm_calls, attributes), (histograms.tool_calls, attributes)]


def _execution(op: Record, histograms: Histograms, where: Where, error_type: str | None, run: Run) -> None:
    tool_type = op.attributes.get(semconv.GEN_AI_TOOL_TYPE) or None

    def describe() -> Described:
        attributes = _outcome(op, semconv.GEN_AI_TOOL_NAME, error_type)
        if op.agent:
            attributes[semconv.GEN_AI_AGENT_NAME] = op.agent
        if tool_type:
            attributes[semconv.GEN_AI_TOOL_TYPE] = tool_type
        return [(histograms.tool, attributes), *_of_run(op, histograms, run)]

    key = ("tool", op.name, op.status, error_type, op.agent, tool_type, run[0])
    histograms.measurements.put(key, where, (_seconds(op), *run[1]), describe)


def _agent(op: Record, histograms: Histograms, where: Where, error_type: str | None, run: Run) -> None:
    """Record an agent, and how many calls were made inside it."""

    def describe() -> Described:
        whose = {semconv.GEN_AI_AGENT_NAME: op.name or semconv.OTHER}
        return [
            (histograms.agent, _outcome(op, semconv.GEN_AI_AGENT_NAME, error_type)),
            (histograms.agent_llm_calls, whose),
            (histograms.agent_tool_calls, whose),
            *_of_run(op, histograms, run),
        ]

    values = (_seconds(op), *(run[1] or _inside(op)), *run[1])
    histograms.measurements.put(("agent", op.name, op.status, error_type, run[0]), where, values, describe)


def _outcome(op: Record, name: str, error_type: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {name: op.name or semconv.OTHER, semconv.STATUS: op.status}
    if error_type:
        attributes[semconv.ERROR_TYPE] = error_type
    return attributes


def _mcp(op: Record, histograms: Histograms, where: Where, error_type: str | None) -> None:
    """Record a request of the Model Context Protocol that was made, or served."""
    failed, code = None, None
    if error_type and not isinstance(op.error, Reject):
        failed, code = error_type, (op.end_attributes or _NOTHING).get(semconv.RPC_RESPONSE_STATUS_CODE) or None
    histogram = histograms.mcp_client if op.adapter.span_kind is SpanKind.CLIENT else histograms.mcp_server
    get = op.attributes.get
    values = (*[get(name) for name in _MCP_ATTRIBUTES], failed, code)
    names = (*_MCP_ATTRIBUTES, semconv.ERROR_TYPE, semconv.RPC_RESPONSE_STATUS_CODE)
    histograms.measurements.put(
        ("mcp", histogram, *values), where, (_seconds(op),), lambda: [(histogram, _named(names, values))]
    )


def _seconds(op: Record) -> float:
    return (op.end_ns - op.start_ns) / 1e9


def _call(op: Record, histograms: Histograms, where: Where, naming: Naming, error_type: str | None, run: Run) -> None:
    """Record a model call that was made. One that a hook refused afterwards has not failed."""
    whose = _whose(op)
    if error_type and isinstance(op.error, Reject):
        error_type = None
    used = op.own_usage
    if used is not None and (used.source == "estimate" or (used.uncounted and used.incomplete)):
        used = None  # the conventions exclude estimates that were not requested
    is_inference = whose[0] in semconv.INFERENCE
    if naming.older or not is_inference:
        _as_older(op, histograms, where, whose, error_type, used if naming.older else None, run)
        run = _NO_RUN
    if naming.newest and is_inference:
        _as_newest(op, histograms, where, whose, error_type, used, run)
    waited = waited_s(op)
    if waited is not None:
        _stream(op, histograms, where, naming.older, naming.newest and is_inference, whose, waited)


def _whose(op: Record) -> tuple[Any, ...]:
    """The values of ``_WHOSE``, ``None`` for what is not known."""
    told, below, answered = op.attributes, op.inner.attributes or _NOTHING, op.end_attributes or _NOTHING
    get = told.get
    address, port = get(semconv.SERVER_ADDRESS), get(semconv.SERVER_PORT)
    return (
        get(semconv.GEN_AI_OPERATION_NAME),
        get(semconv.GEN_AI_PROVIDER_NAME),
        get(semconv.GEN_AI_REQUEST_MODEL),
        below.get(semconv.SERVER_ADDRESS) if address is None else address,
        below.get(semconv.SERVER_PORT) if port is None else port,
        answered.get(semconv.GEN_AI_RESPONSE_MODEL) or None,
        answered.get(semconv.OPENAI_RESPONSE_SERVICE_TIER) or None,
    )


def _named(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _as_older(
    op: Record,
    histograms: Histograms,
    where: Where,
    whose: tuple[Any, ...],
    error_type: str | None,
    used: Usage | None,
    run: Run,
) -> None:
    generates = op.kind == "llm.call"

    def describe() -> Described:
        found: Described = [(histograms.duration, _named((*_WHOSE, semconv.ERROR_TYPE), (*whose, error_type)))]
        for token_type in () if used is None else ("input", "output") if generates else ("input",):
            attributes = _named((*_WHOSE, semconv.GEN_AI_TOKEN_TYPE), (*whose, token_type))
            found.append((histograms.tokens, attributes))
        return found + _of_run(op, histograms, run)

    if used is None:
        values = (_seconds(op), *run[1])
    elif generates:
        values = (_seconds(op), used.input_tokens, used.output_tokens, *run[1])
    else:
        values = (_seconds(op), used.input_tokens, *run[1])
    key = ("older", used is not None, generates, error_type, whose, run[0])
    histograms.measurements.put(key, where, values, describe)


def _as_newest(
    op: Record,
    histograms: Histograms,
    where: Where,
    whose: tuple[Any, ...],
    error_type: str | None,
    used: Usage | None,
    run: Run,
) -> None:
    sums: list[tuple[Any, int]] = []
    if used is not None:
        sums = [
            (histograms.used_input, used.input_tokens),
            (histograms.used_output, used.output_tokens),
            (histograms.used_cache_read, used.cache_read_tokens),
            (histograms.used_cache_write, used.cache_write_tokens),
            (histograms.used_reasoning, used.reasoning_tokens),
        ]
        sums = [(counter, amount) for counter, amount in sums if amount]

    def describe() -> Described:
        found: Described = [(histograms.inference, _named((*_WHOSE, semconv.ERROR_TYPE), (*whose, error_type)))]
        if used is not None:
            attributes = _named(_WHOSE, whose)
            found += [(histograms.input_tokens, attributes), (histograms.output_tokens, attributes)]
            # required, but not reported for all tokens
            sorted_by = {**attributes, semconv.GEN_AI_TOKEN_MODALITY: "unknown"}
            found += [(counter, sorted_by) for counter, _ in sums]
        return found + _of_run(op, histograms, run)

    values = (_seconds(op),)
    if used is not None:
        values = (*values, used.input_tokens, used.output_tokens, *[amount for _, amount in sums])
    key = ("newest", used is not None, tuple([counter for counter, _ in sums]), error_type, whose, run[0])
    histograms.measurements.put(key, where, (*values, *run[1]), describe)


def _stream(
    op: Record, histograms: Histograms, where: Where, older: bool, newest: bool, whose: tuple[Any, ...], waited: float
) -> None:
    """Record when the chunks of a stream came, and how long it was held back."""
    put = histograms.measurements.put

    def record(histogram: Any, seconds: float) -> None:
        put(("stream", histogram, whose), where, (seconds,), lambda: [(histogram, _named(_WHOSE, whose))])

    if older:
        record(histograms.first_chunk, waited)
    if newest:
        record(histograms.inference_first_chunk, waited)
    before = op.stream.first_chunk_ns
    for came in op.stream.later_chunks_ns or ():
        seconds, before = (came - before) / 1e9, came
        if older:
            record(histograms.per_chunk, seconds)
        if newest:
            record(histograms.inference_per_chunk, seconds)
    if op.stream.buffered:
        held, by = (op.end_ns - op.stream.first_chunk_ns) / 1e9, _named(_HELD, whose[:3])
        put(("held", *whose[:3]), where, (held,), lambda: [(histograms.held, by)])
