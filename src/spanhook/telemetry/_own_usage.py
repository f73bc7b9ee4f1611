"""A model call's own usage, when its transport reports it, or when it called other models, which are counted
separately.

A call that passes through several libraries is counted by each of them. The most certain count is taken, and no two are
added: what a client read in the provider's bytes, then what a framework reports, then an estimate. A model that calls
others may report its own usage, theirs, or the sum.
"""

from collections.abc import Iterable
from typing import Any

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Chunks, EndDetails, InnerCalls, LayerCount, Record, Usage, make_encodable


def nest(op: Record) -> None:
    """Register an ended model call with the enclosing model call, at any distance, that it is part of."""
    around = op.parent
    while around is not None and around.in_hook == op.in_hook:
        if around.kind == "llm.call":
            nested = around.part(InnerCalls).__dict__.setdefault("nested", [])
            if not op.resumed or op not in nested:
                nested.append(op)
            return
        around = around.parent


def settle(op: Record) -> None:
    """Work out ``own_usage``; ``routed`` means that the operation only passed on what others answered."""
    nested = op.inner.__dict__.pop("nested", None) or ()  # removed entirely: more may end later
    below = _below(op)
    if not nested:
        op.own_usage = _better(op.own_usage, below)
    elif below is not None and below.source != "estimate":
        op.own_usage = below
    elif _is_theirs(op, nested):
        op.own_usage = below
        op.part(InnerCalls).routed = not op.inner.transported


def _better(own: Usage | None, below: Usage | None) -> Usage | None:
    """The more certain of what the library itself reports, and what its transport does."""
    if own is None or below is None:
        return below if own is None else own
    if own.source == "provider" or not below.is_as_good_as(own):
        return own
    if below.cost_source != "provider" and own.cost_source == "provider":
        below.cost_nano, below.cost_source = own.cost_nano, own.cost_source
    return below


def _below(op: Record) -> Usage | None:
    """The most certain count of the layers below; else what spans of other instrumentations report, which describe the
    same call.
    """
    counts = op.inner.layer_counts
    op.part(InnerCalls).layer_counts = None  # calls that it has left behind are not counted
    own = op.own_usage
    describes = own is None or own.estimated or not op.end_attributes
    by_layer = _by_layer(op, counts, describes=describes) if counts else {}
    below: Usage | None = None
    for used in by_layer.values():  # the innermost first
        if below is None or not below.is_as_good_as(used):
            below = used
    if below is None and op.inner.span_usage and (own is None or own.estimated):
        below = next(iter(op.inner.span_usage.values()))
    return below


def _by_layer(op: Record, counts: list[LayerCount], *, describes: bool) -> dict[str, Usage]:
    """What each layer reports. A client, and a library that passes a stream on, reads it before the libraries above it
    do: if it has found no count there, or not in every part of the call, theirs are estimates.
    """
    found: dict[str, Usage] = {}
    clients: dict[str, bool] = {}
    """Whether each client has found a count in every part of the call."""
    for count in counts:
        used, chunks, is_read = count.usage, count.chunks, True
        if chunks is not None:
            used, is_read = _streamed(op, chunks, describes=describes)
            if count.failed and len(counts) > 1 and (used is None or used.estimated):
                continue  # another attempt has taken its place
        if used is not None:
            used.come_from(count.source)
            if count.layer in found:
                found[count.layer].add(used)
            else:
                found[count.layer] = used
        if is_read and (count.source == "provider" or chunks is not None):
            is_counted = used is not None and not used.estimated
            clients[count.layer] = is_counted and clients.get(count.layer, True)
    for layer, is_counted in clients.items():
        if not is_counted and layer in found:
            found[layer].come_from("estimate")
    if clients and not any(clients.values()):
        for used in (*found.values(), *(() if op.own_usage is None else (op.own_usage,))):
            used.come_from("estimate")
    return found


def _streamed(op: Record, chunks: Chunks, *, describes: bool) -> tuple[Usage | None, bool]:
    """What a stream below reports, and whether it could be read; its attributes are those of the operation, if
    ``describes``.
    """
    try:
        attributes, used = chunks.response()
    except Exception as error:
        internal.report("extract.response", error, lost=1)
        return None, False
    is_read = bool(attributes)
    if describes:
        if not make_encodable(attributes):
            op.part(EndDetails).needs_encoding = True
        op.end_attributes = {**attributes, **(op.end_attributes or {})}
    return used, is_read


def _is_theirs(op: Record, nested: Iterable[Record]) -> bool:
    """Whether ``op`` reports the usage of the calls inside it."""
    used = op.own_usage
    if used is None:
        return True
    marks = _marks(op)
    if any(not marks.isdisjoint(_marks(one)) for one in nested):
        return True
    theirs = Usage()
    for one in nested:
        theirs.add(one.usage)
    alike = theirs.input_tokens == used.input_tokens and theirs.output_tokens == used.output_tokens
    is_summed = op.adapter.nesting.is_framework or op.foreign  # a client's report comes from its server
    return alike and is_summed and not op.inner.transported


def _marks(op: Record) -> set[Any]:
    """Ids of the result, given by the library and by the provider."""
    mark = op.stream.mark
    if mark is None and op.adapter.reading.mark is not None:
        try:
            mark = op.adapter.reading.mark(op.whole)
        except Exception as error:
            internal.report("extract.mark", error)
    return {mark, (op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_ID)} - {None}
