"""What a CEL condition reads from an operation, as plain data within limits.

The CEL package needs about a microsecond for each item of a root, fails on any value of an unknown type, and crashes
the process on data nested a few thousand deep. So only the keys that are read are passed, one by one; types that CEL
lacks are refused, and depth, items and text are limited.
"""

from collections import deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from spanhook.errors import ConditionError
from spanhook.model import Identity, Operation, class_of, encodable, exact_text

MOST_DEPTH = 32
MOST_ITEMS = 10_000
MOST_TEXT = 1_000_000

USAGE = (
    *("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"),
    *("cost_usd", "unpriced_tokens", "llm_calls", "tool_calls", "estimated"),
)

FIELDS: Mapping[str, tuple[str, ...] | None] = {
    "arguments": None,
    "identity": Identity._fields,
    "agent": (),
    "model": (),
    "name": (),
    "names": (),
    "usage": USAGE,
}
"""What may be read: each root with its keys. ``None`` means any key; a text has no keys."""

ROOTS = frozenset(FIELDS)

_NO_NUMBER = "reads NaN, which is neither more nor less than any number"
_ATOMS = frozenset((int, float, bool, type(None)))
_AS_THEY_ARE = (bool, int, float, Decimal, datetime, timedelta)
_AS_TEXT = (date, UUID, PurePath)
_LISTS = (list, tuple, AbstractSet, deque)


class Plain:
    """One value as plain data, with its size.

    Args:
        value: The value.

    Attributes:
        data: The plain data.
        longest: The number of items of its longest list or mapping.
        text: The total number of characters of its texts.

    Raises:
        ConditionError: It is nested too deeply or too large, or contains a type that CEL lacks.
    """

    __slots__ = ("_items", "data", "longest", "text")

    def __init__(self, value: object) -> None:
        self._items = self.longest = self.text = 0
        self.data = self._of(value, MOST_DEPTH)

    def _of(self, value: Any, depth: int) -> Any:
        kind = class_of(value)
        if kind is str:
            self._read(len(value))
            return value if value.isascii() else encodable(value)
        if kind in _ATOMS:
            if value != value:
                raise ConditionError(_NO_NUMBER)
            return value
        if depth == 0:
            raise ConditionError(f"reads data that is nested more than {MOST_DEPTH} deep")
        if kind is dict or isinstance(value, Mapping):
            items = dict(cast("Mapping[Any, Any]", value))
            self._count(len(items))
            if not all(isinstance(key, str | int) for key in items):
                raise ConditionError("reads a mapping whose keys are not all texts or numbers")
            return {self._of(key, depth - 1): self._of(one, depth - 1) for key, one in items.items()}
        if isinstance(value, _LISTS):
            several = list(cast("list[Any]", value))
            self._count(len(several))
            return [self._of(one, depth - 1) for one in several]
        return self._other(value, depth - 1)

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):  # before Enum: the value of a member may be another one
            return self._of(exact_text(value), depth)
        if isinstance(value, Enum):
            return self._of(value.value, depth)
        if isinstance(value, bytes | bytearray):
            self._read(len(value))
            return bytes(value)
        if isinstance(value, _AS_THEY_ARE):
            if isinstance(value, float | Decimal) and value != value:
                raise ConditionError(_NO_NUMBER)
            return value
        if isinstance(value, _AS_TEXT):
            return self._of(str(value), depth)
        cls = class_of(value)
        fields = getattr(cls, "__dataclass_fields__", None) or getattr(cls, "model_fields", None)
        if isinstance(fields, Mapping):
            names = cast("Mapping[str, Any]", fields)
            return self._of({name: getattr(value, name, None) for name in names}, depth)
        raise ConditionError(f"reads a value of type {cls.__name__}, for which CEL has no type")

    def _count(self, items: int) -> None:
        self._items += items
        self.longest = max(self.longest, items)
        if self._items > MOST_ITEMS:
            raise ConditionError(f"reads more than {MOST_ITEMS:,} items")

    def _read(self, characters: int) -> None:
        self.text += characters
        if self.text > MOST_TEXT:
            raise ConditionError(f"reads more than {MOST_TEXT:,} characters")


def values(op: Operation, root: str, keys: frozenset[str] | None) -> Mapping[str, Any] | None:
    """The values of the keys that are read from a root, if they exist; ``None`` if it is read as a whole."""
    if keys is None:
        return None
    if root == "arguments":
        arguments: Any = op.request.arguments
        return (
            {key: arguments[key] for key in keys if key in arguments} if isinstance(arguments, dict | Mapping) else None
        )
    owner = op.identity if root == "identity" else op.root.usage
    return {key: getattr(owner, key) for key in keys}


def whole(op: Operation, root: str) -> Any:
    """The value of a root."""
    if root == "arguments":
        return op.request.arguments
    if root == "identity":
        return op.identity._asdict()
    return {key: getattr(op.root.usage, key) for key in USAGE} if root == "usage" else getattr(op, root)
