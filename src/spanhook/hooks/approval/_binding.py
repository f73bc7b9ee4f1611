"""What an approval is for, as one hash: who asks, through which policy, for which call with which arguments.

Arguments are written as JSON with sorted keys, like RFC 8785, but numbers keep their type (1, 1.0 and true differ), and
values that JSON lacks are written with their type under a key that begins with a dollar sign.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from spanhook.model import Operation

_DEEPEST = 50
_MOST_SHOWN = 20_000
_AS_TEXT = (Decimal, UUID, PurePath, timedelta)


class UnboundValueError(ValueError):
    """A value cannot be written so that equal values are written equally, and others differently."""


def canonical(value: Any) -> str:
    """A value as text; equal for equal values, and different for others.

    Raises:
        UnboundValueError: It contains something that cannot be written so.
    """
    return json.dumps(_plain(value, 0), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def binding_of(parts: Sequence[str], arguments: str) -> str:
    """The hash of who asks, and of the arguments as ``canonical`` writes them."""
    text = json.dumps([*parts, arguments], ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise UnboundValueError(f"it is nested deeper than {_DEEPEST}")
    if isinstance(value, Enum):
        # A flag that stands for bits without a name has none either.
        return _typed("enum", f"{_name(value)}.{value.value if isinstance(value, Flag) else value.name}")
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is str:
        return _text(value)
    if type(value) is float:
        if not math.isfinite(value):
            raise UnboundValueError(f"{value} is not a number")
        return value  # always written with a point or an exponent, and so unlike an integer
    if isinstance(value, datetime | date | time):
        return _typed(type(value).__name__, value.isoformat())
    if isinstance(value, _AS_TEXT):
        return _typed(type(value).__name__, str(value))
    if isinstance(value, bytes | bytearray):
        return _typed("bytes", value.hex())
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), depth)
    if isinstance(value, list | tuple):
        return [_plain(one, depth + 1) for one in cast("Sequence[Any]", value)]
    if isinstance(value, AbstractSet):
        return _typed("set", sorted(canonical(one) for one in cast("AbstractSet[Any]", value)))
    fields = _fields(value)
    if fields is None:
        raise UnboundValueError(f"a {type(value).__name__} cannot be compared by its content")
    return _typed(_name(value), _mapping(fields, depth))


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, one in value.items():
        if type(key) is not str:
            raise UnboundValueError(f"the key {key!r} is not text")
        plain[f"${_text(key)}" if key.startswith("$") else _text(key)] = _plain(one, depth + 1)
    return plain


def _text(value: str) -> str:
    """A text, unless it has halves of UTF-16 characters, which would be taken for a whole one where they meet."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UnboundValueError("a text in it is not valid Unicode") from None
    return value


def _fields(value: Any) -> Mapping[str, Any] | None:
    kind = cast("Any", type(value))
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    names: dict[str, Any] | None = getattr(kind, "model_fields", None)
    if names is None or not hasattr(value, "__pydantic_fields_set__"):
        return None
    extra: dict[str, Any] = getattr(value, "model_extra", None) or {}
    return {**{name: getattr(value, name) for name in names}, **extra}


def _typed(kind: str, value: Any) -> dict[str, Any]:
    return {f"${kind}": value}


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def asked_for(op: Operation) -> Any:
    """What the call will be made with."""
    request = op.request
    if op.kind == "tool.execute":
        return request.arguments or request.inputs
    every: dict[str, Any] = {
        "arguments": request.arguments,
        "inputs": request.inputs,
        "messages": request.messages,
        "system": request.system,
        "model": request.model or op.model,
        "tools": request.tool_definitions or request.tools,
        "parameters": dict(op.parameters),
    }
    return {name: value for name, value in every.items() if value}


def shown(arguments: str) -> str:
    """Arguments as they are shown to whoever decides, not too much of them."""
    more = len(arguments) - _MOST_SHOWN
    return arguments if more <= 0 else f"{arguments[:_MOST_SHOWN]}... ({more} more characters are not shown)"
