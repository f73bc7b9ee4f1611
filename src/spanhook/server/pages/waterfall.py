"""A run's spans as rows under each other, each with its place in time."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spanhook import semconv
from spanhook.server.pages.messages import Message, messages_of
from spanhook.server.routes.run_models import Decision, RunWithTrace, Span

WIDTH = 1000
"""Units across the whole run."""
_LEAST = 4
_DEEPEST = 12
_LONGEST = 20_000
_SHOWN_OTHERWISE = frozenset(
    (
        semconv.GEN_AI_INPUT_MESSAGES,
        semconv.GEN_AI_OUTPUT_MESSAGES,
        semconv.GEN_AI_SYSTEM_INSTRUCTIONS,
        semconv.GEN_AI_TOOL_CALL_ARGUMENTS,
        semconv.GEN_AI_TOOL_CALL_RESULT,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One span.

    Attributes:
        span: The span.
        depth: How many spans are around it.
        start, width: Its place, of ``WIDTH`` units.
        seconds: How long it took.
        model: The model, if one was called.
        input_tokens, output_tokens: What it used itself; ``None`` if it says nothing.
        cost_usd: What that cost; ``None`` if it says nothing.
        decisions: What hooks decided on it.
        messages: What was sent and came back, if that was captured.
        attributes: The others of its attributes, by name.
    """

    span: Span
    depth: int
    start: float
    width: float
    seconds: float
    model: str
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    decisions: list[Decision]
    messages: list[Message]
    attributes: list[tuple[str, str]]


def waterfall(run: RunWithTrace, decisions: list[Decision]) -> list[Row]:
    """The rows of a run's spans: each below the one that it is within, in the order of their start.

    Args:
        run: The run with its trace.
        decisions: What hooks decided in it.
    """
    if not run.spans:
        return []
    begun, ended = min(one.start for one in run.spans), max(one.end for one in run.spans)
    details = {log.span_id: log.attributes for log in run.logs if log.event_name == semconv.EVENT_INFERENCE_DETAILS}
    by_span = defaultdict[str, list[Decision]](list)
    for one in reversed(decisions):
        by_span[one.span_id].append(one)
    return [
        _row(span, depth, begun, ended, by_span[span.span_id], details.get(span.span_id, {}))
        for span, depth in _nested(run.spans)
    ]


def _nested(spans: list[Span]) -> list[tuple[Span, int]]:
    """All spans in the order of their rows. Roots are those whose parent is not there, and one of each circle."""
    children, known = defaultdict[str, list[Span]](list), {one.span_id for one in spans}
    for one in spans:
        children[one.parent_id if one.parent_id in known else ""].append(one)
    placed, seen = list[tuple[Span, int]](), set[int]()
    for root in (*children[""], *spans):
        waiting = [(root, 0)]
        while waiting:
            span, depth = waiting.pop()
            if id(span) in seen:
                continue
            seen.add(id(span))
            placed.append((span, depth))
            waiting.extend((child, depth + 1) for child in reversed(children[span.span_id]))
    return placed


def _row(
    span: Span, depth: int, begun: datetime, ended: datetime, decisions: list[Decision], details: dict[str, Any]
) -> Row:
    all_of, found = max((ended - begun).total_seconds(), 1e-9), {**details, **span.attributes}
    seconds = max((span.end - span.start).total_seconds(), 0.0)
    width = min(WIDTH, max(_LEAST, seconds / all_of * WIDTH))
    own = span.kind in ("llm.call", "embeddings.create") or not span.kind  # others have the sums of what they contain
    return Row(
        span=span,
        depth=min(depth, _DEEPEST),
        start=round(min((span.start - begun).total_seconds() / all_of * WIDTH, WIDTH - width), 1),
        width=round(width, 1),
        seconds=seconds,
        model=_text(found, semconv.GEN_AI_RESPONSE_MODEL) or _text(found, semconv.GEN_AI_REQUEST_MODEL),
        input_tokens=_number(found, semconv.GEN_AI_USAGE_INPUT_TOKENS) if own else None,
        output_tokens=_number(found, semconv.GEN_AI_USAGE_OUTPUT_TOKENS) if own else None,
        cost_usd=_cost(found) if own else None,
        decisions=decisions,
        messages=messages_of(found),
        attributes=[(name, str(one)[:_LONGEST]) for name, one in sorted(found.items()) if name not in _SHOWN_OTHERWISE],
    )


def _text(found: dict[str, Any], name: str) -> str:
    value = found.get(name, "")
    return value if isinstance(value, str) else ""


def _number(found: dict[str, Any], name: str) -> int | None:
    value = found.get(name)
    return int(value) if isinstance(value, int | float) and 0 <= value < 1e15 else None


def _cost(found: dict[str, Any]) -> float | None:
    value = found.get(semconv.COST_USD)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e12 else None
