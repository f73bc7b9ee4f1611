"""The operations among recorded spans: which encloses which, and in which order they begin and end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from spanhook import semconv
from spanhook.cli.replay.otlp import RecordedSpan

Phase = Literal["start", "end"]


@dataclass(slots=True, eq=False)
class Node:
    """One operation.

    Attributes:
        span: What was recorded of it.
        parent: The nearest enclosing operation in its process.
        orphan: A span around it in its process is not recorded, so what encloses it is not known.
        start_ns: When it began; not before its parent, whatever the clocks said.
        depth: How many operations enclose it.
        leaf: It encloses none itself.
    """

    span: RecordedSpan
    parent: "Node | None" = None
    orphan: bool = False
    start_ns: int = 0
    depth: int = 0
    leaf: bool = True


def nodes(spans: Iterable[RecordedSpan]) -> list[Node]:
    """The spans that are operations, with what encloses them; parents come first."""
    known = {(span.trace_id, span.span_id): span for span in spans}
    made = {key: Node(span) for key, span in known.items() if semconv.KIND in span.attributes}
    for node in made.values():
        _place(node, known, made)
    for node in made.values():
        line = [node, *_around(node)]
        node.depth = len(line) - 1
        node.start_ns = max(one.span.start_ns for one in line)
    return sorted(made.values(), key=lambda one: (one.start_ns, one.depth))


def _place(node: Node, known: dict[tuple[str, str], RecordedSpan], made: dict[tuple[str, str], Node]) -> None:
    """Find the enclosing operation; spans of other instrumentations may lie between."""
    span, seen = node.span, {node.span.span_id}
    while span.parent_id and not span.is_remote:
        around = known.get((span.trace_id, span.parent_id))
        if around is None:
            node.orphan = True
            return
        if around.span_id in seen or (span.is_remote is None and around.resource != span.resource):
            return
        seen.add(around.span_id)
        parent = made.get((around.trace_id, around.span_id))
        if parent is not None:
            node.parent, parent.leaf = parent, False
            return
        span = around


def _around(node: Node) -> Iterator[Node]:
    seen = {id(node)}
    around = node.parent
    while around is not None and id(around) not in seen:
        seen.add(id(around))
        yield around
        around = around.parent


def in_order(operations: Iterable[Node]) -> list[tuple[int, Phase, Node]]:
    """Beginnings and ends in the order of time; at the same time, parents begin first and end last."""
    events: list[tuple[tuple[int, int, int], Phase, Node]] = []
    for node in operations:
        events.append(((node.start_ns, 0, node.depth), "start", node))
        events.append(((max(node.span.end_ns, node.start_ns), 1, -node.depth), "end", node))
    events.sort(key=lambda one: one[0])
    return [(key[0], phase, node) for key, phase, node in events]
