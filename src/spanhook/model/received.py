"""What the body of a call receives, beside what its gates were shown: whether it is the same, and how hooks read it.

A framework may validate arguments after the gates and make something else of them. Values that only have another form
in Python are the same: a model, dataclass, enum member, secret, path, date or UUID that would be written as what was
there before. Numbers are not: text, bool, int, float and ``Decimal`` differ from each other, as code computes with
them. Only built-in types are compared by ``==``, since classes of an application may say of it what they like.
"""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain, repeat
from pathlib import PurePath
from typing import Any
from uuid import UUID

from spanhook.model.copying import class_of

_MISSING: Any = object()
_EQUAL: frozenset[type] = frozenset((str, bytes, int, bool, complex, datetime, date, time, timedelta, UUID, bytearray))
_LISTS: tuple[type, ...] = (list, tuple)


def same(shown: Any, received: Any) -> bool:
    """Whether a body receives what gates were shown, in value and type."""
    try:
        return _same(shown, received)
    except Exception:  # a class of the application's, or a value that contains itself
        return False


def _same(shown: Any, received: Any) -> bool:
    if shown is received:
        return True
    kind = class_of(received)
    if kind is class_of(shown):
        if kind in _EQUAL:
            return bool(shown == received)
        if kind is float:
            return shown == received or (shown != shown and received != received)  # NaN
        if kind is Decimal:
            return (shown.is_nan() and received.is_nan()) or shown == received
        if kind in _LISTS:
            return len(shown) == len(received) and all(map(_same, shown, received))
        if kind in (set, frozenset):
            return all(map(_is_simple, shown)) and all(map(_is_simple, received)) and bool(shown == received)
        fields, known = fields_of(received), fields_of(shown)
        return fields is not None and known is not None and _same_fields(known, fields)
    return _same_in_json(shown, received, kind)


def _same_in_json(shown: Any, received: Any, kind: type[Any]) -> bool:
    """The same of what has another form: JSON has no models, enums and tuples."""
    before = class_of(shown)
    if issubclass(kind, Enum) and not issubclass(before, Enum):
        return _same(shown, received.value)
    if issubclass(before, Mapping):
        fields = fields_of(received)
        return fields is not None and _same_fields(shown, fields)
    if before is list and kind is tuple:
        return len(shown) == len(received) and all(map(_same, shown, received))
    if kind is str and issubclass(before, str):
        return str.__eq__(shown, received)
    return before is str and shown == _text(received)


def _same_fields(shown: Mapping[Any, Any], received: Mapping[Any, Any]) -> bool:
    if len(shown) != len(received) or list(map(type, shown)) != list(map(type, received)):
        return False
    return all(_same(one, received.get(key, _MISSING)) for key, one in shown.items())


def _is_simple(value: Any) -> bool:
    return type(value) in _EQUAL and type(value) not in (bool, int)


def _text(value: Any) -> str | None:
    """The text that a value which is no number is written as; ``None`` if it is not known to be written so."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, UUID | PurePath) or type(value).__name__ in _WRITTEN:
        return str(value)
    secret = getattr(value, "get_secret_value", None)
    if secret is not None:
        found = secret()
        return found if type(found) is str else None
    return None


_WRITTEN = frozenset(
    ("AnyUrl", "HttpUrl", "AnyHttpUrl", "Url", "IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network")
)


def fields_of(value: Any) -> Mapping[Any, Any] | None:
    """The items of a mapping, or the fields of a pydantic model or dataclass as it holds them; ``None`` for others."""
    cls = class_of(value)
    if issubclass(cls, Mapping):
        return value
    if getattr(cls, "__dataclass_fields__", None) is not None:
        return {name: getattr(value, name, _MISSING) for name in cls.__dataclass_fields__}
    if hasattr(cls, "__pydantic_fields__") or hasattr(cls, "__fields__"):
        held: Mapping[str, Any] | None = getattr(value, "__dict__", None)
        extra = getattr(value, "__pydantic_extra__", None)
        return {**held, **extra} if held is not None and extra else held
    return None


def as_read(shown: Any, received: Any) -> Any:
    """What a body receives, in the form in which hooks read arguments: as they were shown it, as far as it is the same.

    Models, dataclasses and enum members are read as plain data. A secret that hooks were not shown stays one.
    """
    return shown if same(shown, received) else _as_read(shown, received, 0)


def _as_read(shown: Any, received: Any, depth: int) -> Any:
    if depth > _DEEP:
        return received
    if same(shown, received):
        return shown
    if isinstance(received, Enum):
        return received.value
    kind, before = class_of(received), class_of(shown)
    fields = fields_of(received)
    if fields is not None:
        known = fields_of(shown) or {}
        return {key: _as_read(known.get(key, _MISSING), one, depth + 1) for key, one in fields.items()}
    if kind in _LISTS:
        others = chain(shown if before in _LISTS else (), repeat(_MISSING))
        return kind(_as_read(other, one, depth + 1) for other, one in zip(others, received, strict=False))
    return received


_DEEP = 100
