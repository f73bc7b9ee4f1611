"""Digests by which calls and results are compared: the same for values that say the same."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from spanhook.model import class_of

Digest = bytes

_BYTES = 16


def digest(*values: Any) -> Digest:
    """The digest of plain data, whatever the order of keys; other objects by what they say of themselves."""
    try:
        text = json.dumps(values, sort_keys=True, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError, RecursionError):  # keys of several types, a cycle, or nested very deep
        text = _said(values, 0)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[Any, Any]", value))
    if isinstance(value, set | frozenset):
        return sorted(digest(one).hex() for one in cast("set[Any]", value))
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _named(value)


def _named(value: Any) -> str:
    """An object as text without its address, which differs each time."""
    cls = class_of(value)
    return cls.__qualname__ if cls.__repr__ is object.__repr__ else repr(value)


_DEEPEST = 30


def _said(value: Any, depth: int) -> str:
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value).items()
        return "{" + ",".join(sorted(f"{_said(key, depth + 1)}:{_said(one, depth + 1)}" for key, one in pairs)) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return "[" + ",".join(_said(one, depth + 1) for one in cast("Sequence[Any]", value)) + "]"
    return _named(value)
