"""Values of an application as JSON to be read: there is some for every value, so that what hooks read cannot fail."""

import json
from collections.abc import Mapping
from typing import Any, cast

from spanhook.model.copying import class_of

_LARGEST = 10**4000
"""Python refuses to write a number of more than 4,300 digits."""


def json_text(value: Any, *, ensure_ascii: bool = True) -> str:
    """The value as JSON. What JSON does not have, keys included, is there as text.

    Args:
        value: Any value.
        ensure_ascii: Whether to escape other characters than those of ASCII.

    Raises:
        RecursionError: It is nested too deeply.
    """
    encode = _ESCAPED if ensure_ascii else _UNESCAPED
    try:
        return encode(value)
    except (TypeError, ValueError):
        return encode(_expressible(value, ()))


def _expressible(value: Any, around: tuple[int, ...]) -> Any:
    """The value with text as keys, and without what contains itself. ``around`` are the ids of what it is inside of."""
    if isinstance(value, int):
        return value if -_LARGEST < value < _LARGEST else hex(value)
    if isinstance(value, Mapping):
        several = cast("Mapping[Any, Any]", value)
    elif isinstance(value, list | tuple):
        several = cast("list[Any]", value)
    else:
        return value
    if id(several) in around:
        return "(itself)"
    inside = (*around, id(several))
    if not isinstance(several, Mapping):
        return [_expressible(one, inside) for one in several]
    made: dict[str, Any] = {}
    for key, one in several.items():
        name = key if isinstance(key, str) else _as_text(key)
        while name in made:  # two keys that have become the same
            name = f"{name}'"
        made[name] = _expressible(one, inside)
    return made


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"<{class_of(value).__qualname__}>"


# `json.dumps` would make an encoder for each value.
_ESCAPED = json.JSONEncoder(default=_as_text).encode
_UNESCAPED = json.JSONEncoder(default=_as_text, ensure_ascii=False).encode
