"""Shortens a run of many operations: what repeats under one parent becomes one line with a count.

Knows nothing of lines and columns; the result is an ordinary tree.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import groupby

from spanhook.export.console.tree import Node
from spanhook.model import Usage


def fold(tree: Node, *, adjacent: bool) -> Node:
    """The tree with siblings of the same kind, name and outcome folded, at every level.

    Args:
        tree: The tree to fold; it is not changed.
        adjacent: Fold only consecutive siblings, which keeps the order; otherwise fold all equal siblings, at the place
            of the first.
    """
    folded = replace(tree)
    stack = [folded]
    while stack:
        node = stack.pop()
        node.children = [_one(group) for group in _groups(node.children, adjacent=adjacent)]
        stack.extend(node.children)
    return folded


def _groups(nodes: Sequence[Node], *, adjacent: bool) -> list[list[Node]]:
    in_order = sorted(nodes, key=lambda node: node.start_ns)
    if adjacent:
        return [list(group) for _, group in groupby(in_order, _outcome)]
    groups: dict[Hashable, list[Node]] = {}
    for node in in_order:
        groups.setdefault(_outcome(node), []).append(node)
    return list(groups.values())


def _outcome(node: Node) -> Hashable:
    """What must be equal: messages may differ, but not which hook decided what."""
    decided = tuple(
        (one.event, one.hook, one.decision, one.status_code, one.mode) for one in (*node.decisions, *node.in_shadow)
    )
    return node.kind, node.name, node.status, node.in_hook, decided, node.error.partition(":")[0]


def _one(group: Sequence[Node]) -> Node:
    first = group[0]
    if len(group) == 1:
        return replace(first)
    usage = Usage()
    for node in group:
        usage.add(node.usage)
    return replace(
        first,
        count=len(group),
        differing=sum(_words(node) != _words(first) for node in group),
        duration_ns=sum(node.duration_ns for node in group),
        usage=usage,
        children=[child for node in group for child in node.children],
        left_out=sum(node.left_out for node in group),
    )


def _words(node: Node) -> tuple[str, ...]:
    return node.error, *(one.reason for one in (*node.decisions, *node.in_shadow))
