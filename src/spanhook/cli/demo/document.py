"""The scenes as one JSON document: each run with its usage, decisions and spans."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypedDict, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from spanhook.export.console import Node
from spanhook.model import Usage


class ModelUsage(TypedDict):
    """Tokens and cost of one model in one run; input includes cached tokens, output includes reasoning."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost_usd: float | None


class Decision(TypedDict):
    """A hook's decision, other than ``allow``."""

    hook: str
    event: str
    decision: str
    reason: str
    duration_ms: float


class Span(TypedDict):
    """A span as it was exported. Ids are hex digits; the status is ``UNSET``, ``OK`` or ``ERROR``."""

    name: str
    span_id: str
    parent_id: str | None
    status: str
    attributes: dict[str, Any]


class Run(TypedDict):
    """One outermost operation; ``usage`` is by model; spans and decisions are in order of starting.

    ``cost_usd`` is ``None`` if no model has a known price; a run without model calls costs nothing.
    """

    name: str
    status: str
    trace_id: str
    usage: dict[str, ModelUsage]
    cost_usd: float | None
    decisions: list[Decision]
    spans: list[Span]


class Document(TypedDict):
    """The whole document."""

    runs: list[Run]


def run_document(name: str, tree: Node, spans: Iterable[ReadableSpan]) -> Run:
    """One run, with the ``spans`` of its trace."""
    return Run(
        name=name,
        status=tree.status,
        trace_id=tree.trace_id,
        usage={model: _usage(used) for model, used in tree.by_model.items()},
        cost_usd=tree.usage.cost_usd if tree.usage.total_tokens else 0.0,
        decisions=list(_decisions(tree)),
        spans=[_span(span) for span in sorted(spans, key=_start) if _context(span).trace_id == int(tree.trace_id, 16)],
    )


def _context(span: ReadableSpan) -> SpanContext:
    assert span.context is not None
    return span.context


def _start(span: ReadableSpan) -> int:
    return span.start_time or 0


def _usage(used: Usage) -> ModelUsage:
    return ModelUsage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        reasoning_tokens=used.reasoning_tokens,
        cost_usd=used.cost_usd,
    )


def _decisions(tree: Node) -> Iterator[Decision]:
    for one in tree.decisions:
        yield Decision(
            hook=one.hook,
            event=one.event,
            decision=one.decision,
            reason=one.reason,
            duration_ms=one.duration_ns / 1e6,
        )
    for child in sorted(tree.children, key=lambda child: child.start_ns):
        yield from _decisions(child)


def _span(span: ReadableSpan) -> Span:
    return Span(
        name=span.name,
        span_id=f"{_context(span).span_id:016x}",
        parent_id=f"{span.parent.span_id:016x}" if span.parent is not None else None,
        status=span.status.status_code.name,
        attributes=_plain(span.attributes or {}),
    )


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
        for key, value in attributes.items()
    }
