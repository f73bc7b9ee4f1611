"""The syntax tree of a CEL condition, as far as it matters which values in it come from the call.

The CEL package does not expose its own. The condition has been compiled before, so it is valid CEL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from spanhook.gating._condition_text import MACROS, split_words

COMPARISONS = frozenset(("==", "!=", "in"))
_RANKS = {
    operator: rank
    for rank, operators in enumerate((("||",), ("&&",), (*COMPARISONS, "<", "<=", ">", ">="), "+-", "*/%"))
    for operator in operators
}
"""The operators; those of a higher rank bind more closely."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Origin(NamedTuple):
    """Where a value may come from.

    Attributes:
        call: From the call: its arguments, its identity and so on.
        text: From the text of the condition: a literal other than ``null``, or what is computed from literals alone.
    """

    call: bool = False
    text: bool = False


_LITERAL = Origin(text=True)
_CALL = Origin(call=True)
_NEITHER = Origin()


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a condition.

    Attributes:
        sort: An operator, ``"? :"``, ``"["`` and ``"{"`` for lists and mappings, ``"("`` for parentheses, ``"dyn"``,
            ``"path"`` for names joined by dots, ``"literal"``; ``""`` for others.
        start, end: Where it stands in the text.
        parts: The parts that are values, in order.
        origin: Where its value may come from.
        written: How it is written, if not as in the text.
    """

    sort: str
    start: int
    end: int
    parts: "tuple[Node, ...]"
    origin: Origin
    written: str = ""

    def bare(self) -> "Node":
        """What stands inside of its parentheses, and of ``dyn``, which changes nothing."""
        return self.parts[0].bare() if self.sort in ("(", "dyn") else self


def tree(text: str, roots: frozenset[str]) -> Node:
    """The tree of a valid condition.

    Args:
        text: The condition.
        roots: The names that come from the call.

    Raises:
        RecursionError: It is nested too deeply.
    """
    return _Reader(text, roots).expression({})


class _Reader:
    """Reads a condition from left to right."""

    def __init__(self, text: str, roots: frozenset[str]) -> None:
        self._words = [(word.lastgroup or "", word.group(), word.start(), word.end()) for word in split_words(text)]
        self._roots = roots
        self._at = 0

    def _next(self) -> str:
        """The next word, except a text; empty at the end."""
        if self._at == len(self._words) or self._words[self._at][0] == "string":
            return ""
        return self._words[self._at][1]

    def _take(self) -> None:
        self._at += 1

    def _node(self, sort: str, start: int, parts: tuple[Node, ...], origin: Origin) -> Node:
        """A node that ends with the word before the next."""
        return Node(sort, start, self._words[self._at - 1][3], parts, origin)

    def expression(self, items: Mapping[str, Origin]) -> Node:
        """Read an expression. ``items`` are the names that macros around it give, with the origins of their values."""
        condition = self._operation(0, items)
        if self._next() != "?":
            return condition
        self._take()
        first = self._operation(0, items)
        self._take()
        second = self.expression(items)
        return self._node("? :", condition.start, (condition, first, second), _either(first, second))

    def _operation(self, lowest: int, items: Mapping[str, Origin]) -> Node:
        """Read operands and the operators between them, down to a rank."""
        left = self._unary(items)
        while (rank := _RANKS.get(operator := self._next(), -1)) >= lowest:
            self._take()
            right = self._operation(rank + 1, items)
            left = self._node(operator, left.start, (left, right), _computed(left, right))
        return left

    def _unary(self, items: Mapping[str, Origin]) -> Node:
        if (sign := self._next()) not in ("!", "-"):
            return self._member(items)
        start = self._words[self._at][2]
        self._take()
        operand = self._unary(items)
        negative = sign == "-" and self._words[self._at - 1][0] == "number" and operand.sort == "literal"
        return self._node("literal" if negative else "", start, (operand,), _computed(operand))

    def _member(self, items: Mapping[str, Origin]) -> Node:
        node = self._primary(items)
        while (sign := self._next()) in (".", "["):
            self._take()
            if sign == "[":
                index = self.expression(items)
                self._take()
                node = self._node("", node.start, (node, index), node.origin)
                continue
            name = self._next()
            self._take()
            if self._next() != "(":
                node = self._node("path" if node.sort == "path" else "", node.start, (node,), node.origin)
                continue
            inside = items
            if name in MACROS:
                inside = {**items, self._words[self._at + 1][1]: node.origin}
            parts = (node, *self._several(inside))
            # A filter gives items of its list; other macros and functions compute from what they are passed.
            node = self._node("", node.start, parts, node.origin if name == "filter" else _computed(*parts))
        return node

    def _primary(self, items: Mapping[str, Origin]) -> Node:
        sort, word, start, _ = self._words[self._at]
        if sort in ("string", "number"):
            self._take()
            return self._node("literal", start, (), _LITERAL)
        if word == "(":
            self._take()
            inside = self.expression(items)
            self._take()
            return self._node("(", start, (inside,), inside.origin)
        if word in ("[", "{"):
            parts = self._several(items)
            return self._node(word, start, parts, _either(*parts) if parts else _LITERAL)
        if word == ".":  # of a name that is looked up at the top
            self._take()
            word = self._next()
        self._take()
        if self._next() == "(":
            parts = self._several(items)
            if word == "dyn" and len(parts) == 1:
                return self._node("dyn", start, parts, parts[0].origin)
            return self._node("", start, parts, _NEITHER if word == "type" else _computed(*parts))
        if word in ("true", "false"):
            return self._node("literal", start, (), _LITERAL)
        return self._node("path", start, (), items.get(word, _CALL if word in self._roots else _NEITHER))

    def _several(self, items: Mapping[str, Origin]) -> tuple[Node, ...]:
        """The values between brackets, which are the next word; of a mapping its keys and values."""
        closing = _CLOSING[self._next()]
        self._take()
        parts: list[Node] = []
        while self._next() != closing:
            if self._next() in (",", ":"):
                self._take()
            else:
                parts.append(self.expression(items))
        self._take()
        return tuple(parts)


def _either(*parts: Node) -> Origin:
    """The origin of a value that is one of these, or holds them all."""
    return Origin(any(part.origin.call for part in parts), any(part.origin.text for part in parts))


def _computed(*parts: Node) -> Origin:
    """The origin of a value that is computed from these."""
    call = any(part.origin.call for part in parts)
    return Origin(call, not call)
