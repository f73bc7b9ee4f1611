"""Values that can be exported: OTLP has UTF-8 strings, without lone surrogates, and 64-bit integers.

A single value outside these loses its whole batch.
"""

import re
from collections.abc import MutableMapping
from enum import Enum
from typing import Any

from spanhook.model.copying import class_of

_STRINGS = frozenset((str,))
_LEAST, _MOST = -(2**63), 2**63 - 1
_SURROGATES = re.compile("[\ud800-\udfff]")


def exact_text(value: Any) -> str:
    """A name or an id as it is sent: its characters, in a ``str`` that is no instance of a subclass.

    ``str()`` and f-strings show what a class makes of itself instead, such as ``Model.MINI`` for a member of
    ``class Model(str, Enum)``, which JSON sends as ``gpt-4o-mini``. Of other members of an ``Enum``, SDKs send the
    value. It is empty for ``None``, and ``str()`` of anything else.
    """
    if type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if value is None:
        return ""
    return exact_text(value.value) if isinstance(value, Enum) else str(value)


def encodable(text: str) -> str:
    """The text with a replacement character for each surrogate."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def make_encodable(attributes: MutableMapping[str, Any]) -> bool:
    """Replace, in place, the strings and integers among attribute values that cannot be exported.

    Returns:
        Whether every value is of a type that the SDK accepts as it is.
    """
    for value in attributes.values():
        kind = class_of(value)
        if kind is str:
            if not value.isascii():
                break
        elif kind is int:
            if not _LEAST <= value <= _MOST:
                break
        elif kind is tuple:
            if not _STRINGS.issuperset(map(type, value)) or not "".join(value).isascii():
                break
        elif kind is not float and kind is not bool:
            break
    else:
        return True
    return _made_encodable(attributes)


def _made_encodable(attributes: MutableMapping[str, Any]) -> bool:
    taken = True
    for name, value in attributes.items():
        kind = class_of(value)
        if kind is str:
            attributes[name] = encodable(value)
        elif kind is int:
            attributes[name] = _in_range(value)
        elif kind is tuple and _STRINGS.issuperset(map(type, value)):
            attributes[name] = tuple(map(encodable, value))
        elif kind is not float and kind is not bool:
            several: Any = value
            attributes[name] = tuple(map(_encodable, several)) if isinstance(value, tuple | list) else _encodable(value)
            taken = False
    return taken


def _encodable(value: Any) -> Any:
    """A value of any type, as far as it can be exported."""
    if isinstance(value, str):
        return encodable(exact_text(value))
    if isinstance(value, Enum):
        return _encodable(value.value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _in_range(value)
    return value


def _in_range(number: int) -> int:
    """The nearest 64-bit integer."""
    return max(_LEAST, min(number, _MOST))


def encodable_body(value: Any) -> Any:
    """The body of a log record with every string and integer in it encodable."""
    kind = class_of(value)
    if kind is str:
        return encodable(value)
    if kind is int:
        return _in_range(value)
    if kind is dict:
        return {encodable(exact_text(name)): encodable_body(one) for name, one in value.items()}
    if kind is list:
        return [encodable_body(one) for one in value]
    return encodable(exact_text(value)) if isinstance(value, str) else value
