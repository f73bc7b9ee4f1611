"""What conditions read from one operation, in the form that the CEL package takes."""

from collections.abc import Mapping
from typing import Any

from spanhook.errors import ConditionError
from spanhook.gating._cel import cel
from spanhook.gating._condition_types import Differences
from spanhook.gating._condition_values import Plain, values, whole
from spanhook.model import Operation

Keys = Mapping[str, frozenset[str] | None]
"""Roots with the keys that are read from each; ``None`` if it may be any."""


class Facts:
    """What conditions read from one operation. Each root is converted to plain data once, when first read.

    Args:
        op: The operation as it is now. After a rewrite, create a new object.
        keys: The keys that all conditions read; see ``united``.

    Attributes:
        bound: The values for CEL.
        whole: Roots that are bound with all their keys that are read.
        longest: The number of items of the longest bound list.
        text: The total number of characters of bound texts.
    """

    __slots__ = ("_differences", "_keys", "_name", "_op", "_sizes", "bound", "longest", "text", "whole")

    def __init__(self, op: Operation, keys: Keys) -> None:
        self._op, self._keys = op, keys
        self._sizes: dict[str, dict[str, Plain | ConditionError]] = {}
        self.bound = cel().Context()
        self.longest = self.text = 0
        self.whole: set[str] = set()
        self._name = op.name
        self._differences: Differences | None = None

    def name_as(self, known: frozenset[str]) -> None:
        """Bind that of the operation's names to ``name`` that a condition compares with: filters know it by each."""
        names = self._op.names
        name = next((one for one in names if one in known), names[0])
        if name != self._name:
            self._name = name
            self.bound.add_variable("name", name)

    def differences(self) -> Differences:
        """The functions of guarded conditions, bound for CEL when they are first needed, with no types noted."""
        if self._differences is None:
            self._differences = Differences()
            for name, function in self._differences.functions().items():
                self.bound.add_function(name, function)
        self._differences.types = None
        return self._differences

    def size(self, keys: Keys) -> tuple[int, int]:
        """Bind these keys. Returns the items of their longest list, and the total number of characters.

        Raises:
            ConditionError: One of them is too large to be read.
        """
        longest = text = 0
        for root, wanted in keys.items():
            sizes = self._sizes.get(root)
            if sizes is None:
                sizes = self._sizes[root] = self._bind(root)
            for key, size in sizes.items():
                if wanted is not None and key and key not in wanted:
                    continue
                if isinstance(size, ConditionError):
                    raise size
                longest, text = max(longest, size.longest), text + size.text
        return longest, text

    def _bind(self, root: str) -> dict[str, "Plain | ConditionError"]:
        """Bind a root; the sizes of its keys, or of the whole under an empty one."""
        keyed = values(self._op, root, self._keys[root])
        read = {"": whole(self._op, root)} if keyed is None else keyed
        sizes: dict[str, Plain | ConditionError] = {}
        data: dict[str, Any] = {}
        for key, value in read.items():
            try:
                plain = sizes[key] = Plain(value)
            except ConditionError as error:
                sizes[key] = error
                continue
            data[key] = plain.data
            self.longest = max(self.longest, plain.longest)
            self.text += plain.text
        if keyed is not None or data:
            self.bound.add_variable(root, data if keyed is not None else data[""])
        if len(data) == len(read):
            self.whole.add(root)
        return sizes
