"""Numbers, texts and attributes as the bytes of OTLP's protobuf messages.

Only what OpenTelemetry's own encoder would encode alike is encoded; anything else raises, and goes through that
encoder. Encodings of frequent texts are kept, up to a limit.

See https://protobuf.dev/programming-guides/encoding/ and ``opentelemetry/proto/common/v1/common.proto``.
"""

from collections.abc import Callable, ItemsView, Iterable, Mapping
from struct import Struct
from types import MappingProxyType
from typing import Any

from opentelemetry.attributes import BoundedAttributes

from spanhook.model import class_of

KEPT = 2048
"""How many encoded attributes are kept, how many keys, and how many names."""
KEPT_LENGTH = 128
"""Longer ones, in bytes, are not kept."""
DEEPEST = 16
"""How deep arrays and maps may be nested here; beyond that, it depends on the receiver what is still read."""

_MOST_INT = 1 << 63
_MOST_COUNT = 1 << 32
_LAST = tuple(bytes((number,)) for number in range(0x80))
_NOT_LAST = tuple(bytes((number | 0x80,)) for number in range(0x80))
"""Seven bits of a number each; the eighth announces another byte."""
_DOUBLE = Struct("<d").pack
_STRINGS = frozenset((str,))
_COPIED = frozenset((dict, MappingProxyType, BoundedAttributes))


def varint(number: int) -> bytes:
    """A number that is not negative, with 7 bits in a byte."""
    if number < 0x80:
        return _LAST[number]
    if number < 0x4000:
        return _NOT_LAST[number & 0x7F] + _LAST[number >> 7]
    parts: list[bytes] = []
    while number > 0x7F:
        parts.append(_NOT_LAST[number & 0x7F])
        number >>= 7
    parts.append(_LAST[number])
    return b"".join(parts)


def delimited(content: bytes) -> bytes:
    """Content after its length."""
    return varint(len(content)) + content


def text(value: str) -> bytes:
    """A text after its length.

    Raises:
        UnicodeEncodeError: It has a lone surrogate.
    """
    return delimited(value.encode())


def name(value: str) -> bytes:
    """``text`` of what is frequent."""
    encoded = _names.get(value)
    if encoded is None:
        encoded = text(value)
        _keep(_names, value, encoded, len(encoded))
    return encoded


def count(number: int) -> bytes:
    """A number of 32 bits.

    Raises:
        OverflowError: It does not fit.
    """
    if not 0 <= number < _MOST_COUNT:
        raise OverflowError(number)
    return varint(number)


def attributes(tag: bytes, mapping: Mapping[str, Any] | None) -> bytes:
    """A field with this tag for each attribute: a ``KeyValue``.

    Raises:
        Exception: A value is not encoded here; see ``value``.
    """
    if not mapping:
        return b""
    get, new = _attributes.get, _attribute
    given: Any = mapping
    items: ItemsView[str, Any] = (given.copy() if type(given) in _COPIED else given).items()  # of a dictionary: faster
    try:
        encoded = [get(item) or new(item) for item in items]
    except TypeError:  # a list or a map cannot be looked up; or a value is not encoded here, and raises again
        encoded = [new(item) for item in items]
    return tag + tag.join(encoded) if encoded else b""


def value(given: Any, depth: int = 0) -> bytes:
    """A value as an ``AnyValue``.

    Raises:
        TypeError: It is of a type that is not encoded here, such as that of ``None``.
        OverflowError: It is a number of more than 64 bits.
        UnicodeEncodeError: It has a lone surrogate.
        RecursionError: It is nested too deep.
    """
    encoder = _ENCODERS.get(class_of(given))
    return encoder(given, depth) if encoder is not None else _inherited(given, depth)


class _Key:
    """All that stands before the values of one key, in a ``KeyValue`` after its length.

    Attributes:
        field: The key itself, and the tag of its value.
        double: What stands before a double.
        integers: What stands before an integer of no bytes, of one byte, of two, of three.
    """

    __slots__ = ("double", "field", "integers")

    def __init__(self, key: str) -> None:
        self.field = b"\x0a" + text(key) + b"\x12"
        self.double = self.before(9) + b"\x21"
        self.integers = tuple(self.before(1 + length) + b"\x18" for length in range(4))

    def before(self, length: int) -> bytes:
        """What stands before a value of this length."""
        size = varint(length)
        return varint(len(self.field) + len(size) + length) + self.field + size


_names: dict[str, bytes] = {}
_keys: dict[str, _Key] = {}
_attributes: dict[tuple[str, Any], bytes] = {}
"""Only those whose values are texts, or tuples of texts: in a dictionary, ``1``, ``1.0`` and ``True`` are the same."""


def _attribute(item: tuple[str, Any], depth: int = 0) -> bytes:
    """A ``KeyValue`` after its length."""
    key, given = item
    known = _keys.get(key) or _new_key(key)
    kind = class_of(given)
    if kind is int:
        number = _integer(given)
        length = len(number)
        return (known.integers[length] if length < 4 else known.before(1 + length) + b"\x18") + number
    if kind is float:
        return known.double + _DOUBLE(given)
    content = value(given, depth)
    encoded = known.before(len(content)) + content
    if kind is str or (kind is tuple and _STRINGS.issuperset(map(type, given))):
        _keep(_attributes, item, encoded, len(encoded))
    return encoded


def _new_key(key: str) -> _Key:
    known = _Key(key)
    _keep(_keys, key, known, len(known.field))
    return known


def _keep(kept: dict[Any, Any], key: Any, encoded: Any, length: int) -> None:
    if length <= KEPT_LENGTH:
        if len(kept) >= KEPT:
            kept.clear()
        kept[key] = encoded


def _integer(given: int) -> bytes:
    if 0 <= given < 0x4000:
        return _NOT_LAST[given & 0x7F] + _LAST[given >> 7] if given > 0x7F else _LAST[given]
    if 0 <= given < _MOST_INT:
        return varint(given)
    if -_MOST_INT <= given < 0:
        return varint(given + 2 * _MOST_INT)
    raise OverflowError(given)


def _array(given: Iterable[Any], depth: int) -> bytes:
    _check(depth)
    values = b"".join([b"\x0a" + delimited(value(one, depth + 1)) for one in given])
    return b"\x2a" + delimited(values)


def _map(given: Mapping[Any, Any], depth: int) -> bytes:
    _check(depth)
    return b"\x32" + delimited(
        b"".join([b"\x0a" + _attribute((str(key), one), depth + 1) for key, one in given.items()])
    )


def _inherited(given: Any, depth: int) -> bytes:
    """A value of a class derived from one that is encoded here, such as an enumeration's."""
    for kind, plain in _PLAIN.items():
        if isinstance(given, kind):
            return _ENCODERS[kind](plain(given), depth)
    raise TypeError(class_of(given))


def _check(depth: int) -> None:
    if depth >= DEEPEST:
        raise RecursionError(depth)


_PLAIN: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__index__, float: float.__float__}
"""What an instance of a derived class is without that class."""
_ENCODERS: dict[type, Callable[[Any, int], bytes]] = {
    str: lambda given, _depth: b"\x0a" + text(given),
    bool: lambda given, _depth: b"\x10\x01" if given else b"\x10\x00",
    int: lambda given, _depth: b"\x18" + _integer(given),
    float: lambda given, _depth: b"\x21" + _DOUBLE(given),
    bytes: lambda given, _depth: b"\x3a" + delimited(given),
    list: _array,
    tuple: _array,
    dict: _map,
}
