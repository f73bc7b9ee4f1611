"""Counts what operations use, whether or not anything reads the counts."""

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import NO_CALLS, Leaves, Record, Usage, encodable, ungated_tools
from spanhook.telemetry._own_usage import nest, settle
from spanhook.telemetry.metrics import COST, UNCOUNTED, UNPRICED, counts
from spanhook.telemetry.pipeline import telemetry
from spanhook.telemetry.pricing import prices


def account(op: Record) -> None:
    """Count a call that was made, once: add its usage to the counters, and call and usage to every enclosing
    operation.
    """
    if op.attempts is not None:
        attempts, op.attempts = op.attempts, None
        for tell in attempts:
            tell(op.error)
    if op.accounted or not op.called:
        if op.kind == "tool.execute" and not op.called:  # a refusal is sent to the model as a result, too
            ungated_tools.executed.append(op.attributes)
        if op.owing is not None:  # an interrupt stopped the first attempt
            _roll_up(op)
        return
    kind = op.kind
    try:
        if kind == "tool.execute":
            ungated_tools.executed.append(op.attributes)
            if op.parent is not None and not op.serves:
                op.owing, op.accounted = (op.name, None, op.parent), True
                _roll_up(op)
        elif kind in ("llm.call", "embeddings.create"):
            _account(op)
    except Exception as error:
        internal.report("accounting", error, lost=1)
    op.accounted = True


def _account(op: Record) -> None:
    """Count a model call."""
    kind = op.kind
    used = op.own_usage
    if used is None or used.source == "estimate" or op.inner is not NO_CALLS:
        settle(op)
    if op.parent is not None and kind == "llm.call":
        nest(op)
    if op.inner.routed:
        return
    used = op.own_usage
    if used is None:
        if "made_elsewhere" in op.adapter.traits:  # a call without a report was not made
            return
        if kind == "llm.call":
            used = Usage()
            used.llm_calls = 1
            op.owing, op.accounted = None if op.parent is None else (op.model, used, op.parent), True
            _roll_up(op)
        return
    model = (op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_MODEL) or op.model
    provider = op.provider
    prices.price(used, provider, model)
    settings = telemetry.settings
    vector = counts.usage.vector(
        (
            op.attributes[semconv.GEN_AI_OPERATION_NAME],
            provider,
            model,
            op.agent,
            encodable(op.identity.tenant_id) if settings.tenant_metrics else "",
            used.source == "estimate",
            used.cost_source,
        )
    )
    read, write, reasoning = used.cache_read_tokens, used.cache_write_tokens, used.reasoning_tokens
    # From here on nothing is called until everything is counted, so that an interrupt comes either before or after.
    op.owing, op.accounted = None if op.parent is None else (model, used, op.parent), True
    vector[0] += used.input_tokens - read - write
    vector[3] += used.output_tokens - reasoning
    if read or write or reasoning:
        vector[1] += read
        vector[2] += write
        vector[4] += reasoning
    if used.cost_nano is not None:
        vector[COST] += used.cost_nano
    else:
        vector[UNPRICED] += used.unpriced_tokens
    if used.uncounted:
        vector[UNCOUNTED] += 1
    if kind == "llm.call":
        used.llm_calls = 1
    if op.owing is not None:
        _roll_up(op)


def _roll_up(op: Record) -> None:
    """Add this operation's usage to the enclosing operations, from that of ``op.owing`` outwards."""
    owing = op.owing
    while owing is not None:
        name, used, around = owing
        leaves = around.leaves
        if leaves is None:  # setdefault is atomic: parallel branches of a run end at the same time
            leaves = around.__dict__.setdefault("leaves", Leaves())
        new = leaves.new
        further = None if around.shadow else around.parent  # the run did not use what a hook in shadow used
        op.owing = owing = None if further is None else (name, used, further)
        new.append((name, used))  # an interrupt comes either before the line above or after this one
        if len(new) >= leaves.FOLD_AT:
            leaves.fold()
