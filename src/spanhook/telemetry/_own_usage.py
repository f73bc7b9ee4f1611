"""A model call's own usage, when its transport reports it, or when it called other models, which are counted
separately.

A model that calls others may report its own usage, theirs, or the sum, so its transport's report comes first.
"""

from collections.abc import Iterable
from typing import Any

from spanhook import semconv
from spanhook.diagnostics import internal
from spanhook.model import Record, Usage, make_encodable


def nest(op: Record) -> None:
    """Register an ended model call with the enclosing model call, at any distance, that it is part of."""
    around = op.parent
    while around is not None and around.in_hook == op.in_hook:
        if around.kind == "llm.call":
            nested = around.__dict__.setdefault("nested", [])
            if not op.resumed or op not in nested:
                nested.append(op)
            return
        around = around.parent


def settle(op: Record) -> None:
    """Work out ``own_usage``; ``routed`` means that the operation only passed on what others answered."""
    nested = op.__dict__.pop("nested", None) or ()  # removed entirely: more may end later
    told = _transported(op)
    if not nested:
        if op.own_usage is None or (op.own_usage.estimated and told is not None and not told.estimated):
            op.own_usage = told
    elif told is not None and not told.estimated:
        op.own_usage = told
    elif _is_theirs(op, nested):
        op.own_usage = told
        op.routed = not op.transported


def _transported(op: Record) -> Usage | None:
    """What the transport reported in results and streams, or else in spans of other instrumentations."""
    used, op.transport_usage = op.transport_usage, None
    streams: dict[str, Usage] = {}  # by layer: each reports all of it
    for layer, chunks in op.tapped or ():
        try:
            attributes, streamed = chunks.response()
        except Exception as error:
            internal.report("extract.response", error, lost=1)
            continue
        if not make_encodable(attributes):
            op.odd = True
        op.end_attributes = {**attributes, **(op.end_attributes or {})}
        if streamed is not None:
            streams.setdefault(layer, Usage()).add(streamed)
    op.tapped = None
    if streams:
        said = next((one for one in streams.values() if not one.estimated), next(iter(streams.values())))
        used = used or Usage()
        used.add(said)
    if used is None and op.span_usage:
        used = next(iter(op.span_usage.values()))  # the others describe the same call
    return used


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
    is_summed = op.adapter.model_layer or op.foreign  # a client's report comes from its server
    return alike and is_summed and not op.transported


def _marks(op: Record) -> set[Any]:
    """Ids of the result, given by the library and by the provider."""
    mark = op.mark
    if mark is None and op.adapter.mark is not None:
        try:
            mark = op.adapter.mark(op.result)
        except Exception as error:
            internal.report("extract.mark", error)
    return {mark, (op.end_attributes or {}).get(semconv.GEN_AI_RESPONSE_ID)} - {None}
