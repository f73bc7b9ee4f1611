"""Makes a comparison of a value from the call with a literal of another type an error of the condition.

In CEL ``"3" == 3`` is false. A tool's schema may convert the text to the number after the gate has read it, so the
rule ``arguments.level == 3`` would not see the call that it is about.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any, cast

from spanhook.gating._condition_tree import COMPARISONS, Node, Origin, tree
from spanhook.model import class_of

EQUAL, AMONG, HOLDS = ("differ_in_type", "differs_from_all_in_type", "differs_from_one_in_type")
"""Functions for guarded conditions; an index of 1 into a list of one item is an error."""

_NAMES: Mapping[type, str] = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    datetime: "timestamp",
    timedelta: "duration",
}
_NUMBERS = frozenset((int, float))


def guarded(text: str, roots: frozenset[str]) -> tuple[str, str]:
    """The condition, with its comparisons guarded.

    Returns:
        A text to be evaluated first, and one to be evaluated if the first fails, which fails only where it must. The
        first is empty if it would not be cheaper, and both are if no value from the call is compared with a literal.

    Raises:
        RecursionError: It is nested too deeply.
    """
    root = tree(text, roots)
    quick, exact = (_Writer(text, exact=exact) for exact in (False, True))
    texts = quick.write(root), exact.write(root)
    return ("" if quick.calls else texts[0], texts[1]) if exact.guards else ("", "")


class Differences:
    """The functions of guarded conditions, and the types of the last values that differed in type."""

    __slots__ = ("types",)

    def __init__(self) -> None:
        self.types: tuple[str, str] | None = None

    def functions(self) -> Mapping[str, Callable[[Any, Any], int]]:
        """Each returns 1 if two values differ in type, else 0."""
        return {EQUAL: self._equal, AMONG: self._among, HOLDS: self._holds}

    def _equal(self, left: object, right: object) -> int:
        return self._note(difference(left, right))

    def _among(self, value: object, literals: Iterable[object]) -> int:
        """For ``value in literals``: one literal of the value's type is enough."""
        if class_of(value) not in _NAMES:  # a list or a mapping, which is compared with each
            return self._holds(value, literals)
        found = [difference(value, one) for one in literals if class_of(one) in _NAMES]
        return self._note(None if None in found else next(iter(found), None))

    def _holds(self, literal: object, values: Iterable[object]) -> int:
        """For ``literal in values``: each value is compared with the literal."""
        found = [(difference(literal, value), value) for value in values]
        if any(types is None and value == literal for types, value in found):
            return 0
        return self._note(next((types for types, _ in found if types is not None), None))

    def _note(self, types: tuple[str, str] | None) -> int:
        self.types = types or self.types
        return 0 if types is None else 1


def difference(left: Any, right: Any) -> tuple[str, str] | None:
    """The names of both types, if values of them are never equal in CEL, but may be one value in JSON.

    Lists of one length and mappings are compared item by item. ``null`` is not compared.
    """
    kinds = cast("tuple[Any, Any]", (type(left), type(right)))
    if kinds == (list, list):
        pairs = zip(left, right, strict=True) if len(left) == len(right) else ()
    elif kinds == (dict, dict):
        pairs = ((one, right[key]) for key, one in left.items() if key in right)
    elif kinds[0] is kinds[1] or _NUMBERS.issuperset(kinds) or not _NAMES.keys() >= set(kinds):
        return None
    else:
        return _NAMES[kinds[0]], _NAMES[kinds[1]]
    return next((found for one, other in pairs if (found := difference(one, other))), None)


class _Writer:
    """Writes a condition with its comparisons guarded. Each part of it is written once.

    Args:
        text: The condition.
        exact: Whether to use the functions throughout. Ordering two values is cheaper; it fails for types that differ,
            and for more, such as ``null``.

    Attributes:
        guards: How many comparisons are guarded.
        calls: How many of them by a function.
    """

    def __init__(self, text: str, *, exact: bool) -> None:
        self._text, self._exact = text, exact
        self._numbers = count()
        self._prefix = "value"
        while self._prefix in text:
            self._prefix += "_"
        self.guards = self.calls = 0

    def write(self, node: Node) -> str:
        if node.written:
            return node.written
        if node.sort in COMPARISONS and _mixed(*node.parts):
            return self._compare(node.sort, *node.parts)
        written, at = list[str](), node.start
        for part in node.parts:
            written += (self._text[at : part.start], self.write(part))
            at = part.end
        return "".join((*written, self._text[at : node.end]))

    def _compare(self, operator: str, left: Node, right: Node) -> str:
        if not _mixed(left, right):
            return f"({self.write(left)} {operator} {self.write(right)})"
        first, second = left.bare(), right.bare()
        if first.sort == "? :":
            return self._branches(first, right, lambda one, other: self._compare(operator, one, other))
        if second.sort == "? :":
            return self._branches(second, left, lambda one, other: self._compare(operator, other, one))
        if operator == "in" and second.sort == "[" and second.origin.call:
            return self._among_some(left, second.parts)
        self.guards += 1
        guarded = self._among(first, second) if operator == "in" else self._equal(first, second)
        return f"!{guarded}" if operator == "!=" else guarded

    def _branches(self, node: Node, other: Node, compare: Callable[[Node, Node], str]) -> str:
        """Both branches compared, each by itself, so that it is known which of them is a literal."""
        condition, yes, no = node.parts
        other, before, after = self._once(other)
        return f"({before}{self.write(condition)} ? {compare(yes, other)} : {compare(no, other)}{after})"

    def _among_some(self, left: Node, items: Sequence[Node]) -> str:
        """``in`` for a list of which some items are literals: these are compared together, and each other by itself."""
        one, before, after = self._once(left)
        literals = tuple(item for item in items if not item.origin.call)
        found = [self._compare("==", one, item) for item in items if item.origin.call]
        if literals:
            written = f"[{', '.join(self.write(item) for item in literals)}]"
            found.append(self._compare("in", one, Node("[", 0, 0, literals, Origin(text=True), written)))
        return f"({before}{' || '.join(found)}{after})"

    def _equal(self, left: Node, right: Node) -> str:
        if not self._exact:
            for one, literal in ((left, right), (right, left)):
                if _order(literal, self._text):
                    bound, before, after = self._once(one)
                    value, constant = self.write(bound), self.write(literal)
                    return f"({before}{value} == {constant} || ({value} < {constant} ? false : false){after})"
        return self._guard(left, right, "==", EQUAL)

    def _among(self, one: Node, several: Node) -> str:
        if not self._exact and several.sort == "[":
            orders = {_order(item, self._text) for item in several.parts}
            if len(orders) == 1 and "" not in orders:
                one, before, after = self._once(one)
                value, first = self.write(one), self.write(several.parts[0])
                return f"({before}{value} in {self.write(several)} || ({value} < {first} ? false : false){after})"
        return self._guard(one, several, "in", HOLDS if several.origin.call else AMONG)

    def _guard(self, left: Node, right: Node, operator: str, function: str) -> str:
        """Both values compared, and passed to a function."""
        self.calls += 1
        left, before, after = self._once(left)
        right, between, end = self._once(right)
        one, other = self.write(left), self.write(right)
        return f"({before}{between}[{one} {operator} {other}][{function}({one}, {other})]{end}{after})"

    def _once(self, node: Node) -> tuple[Node, str, str]:
        """A node that may be written several times, and what to write before and after, for a value evaluated once."""
        if node.sort in ("path", "literal"):
            return node, "", ""
        name = f"{self._prefix}{next(self._numbers)}"
        return Node("path", 0, 0, (), node.origin, name), f"[{self.write(node)}].exists({name}, ", ")"


def _mixed(left: Node, right: Node) -> bool:
    """Whether a value from the call may be compared with a literal."""
    return (left.origin.call and right.origin.text) or (left.origin.text and right.origin.call)


def _order(node: Node, text: str) -> str:
    """The order that a literal belongs to: a letter for texts, for numbers and for booleans; empty if to none."""
    if node.sort != "literal":
        return ""
    written = text[node.start : node.end]
    if written in ("true", "false"):
        return "b"
    if written[-1] not in "'\"":
        return "n"
    return "" if written[0] in "bB" or written[1] in "bB" else "s"
