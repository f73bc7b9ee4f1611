"""Converts requests to plain data before they are read: the converted data is kept, and then sent.

The SDKs accept any mapping as a dict, and any sequence, set, view or iterator as a list, and convert them to JSON only
when sending. A hook reading such a request would not see its content, or would consume what should be sent.
"""

from collections import UserString
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, cast

_NO_LISTS = (str, bytes, bytearray, memoryview, UserString)
_LISTS = (Sequence, AbstractSet, MappingView, Iterator)
_LEFT_OUT = ("Omit", "NotGiven")
_DICT: frozenset[type] = frozenset((dict,))
_known: set[type] = {str, int, float, bool, type(None)}
"""Plain types, and the SDKs' placeholder for omitted fields, learned when first seen."""


def settled(value: Any) -> Any:
    """The value itself if it is entirely plain, or something that only the SDK can send; otherwise a plain copy.

    Raises:
        RecursionError: It contains itself; no SDK can send it.
    """
    kind = type(value)
    if kind in _known:
        return value
    if kind is dict:
        return _settled_dict(value)
    if kind is list:
        return _settled_list(value)
    if kind.__name__ in _LEFT_OUT:
        _known.add(kind)
        return value
    if isinstance(value, Mapping):
        return _settled_dict(dict(cast("Mapping[Any, Any]", value)))
    if isinstance(value, _NO_LISTS) or hasattr(value, "read") or not isinstance(value, _LISTS):
        return value
    return _settled_list(value) if kind is tuple else _drained(cast("Iterable[Any]", value))


def _settled_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    twin: dict[Any, Any] | None = None
    for name, one in value.items():
        if type(one) not in _known and (made := settled(one)) is not one:
            twin = value.copy() if twin is None else twin
            twin[name] = made
    return value if twin is None else twin


def _settled_list(value: Any) -> Any:
    if _DICT.issuperset(map(type, value)) and _known.issuperset(
        map(type, chain.from_iterable(map(dict.values, value)))
    ):
        return value  # as most conversations: nothing runs in Python for each message
    twin: list[Any] | None = None
    for index, one in enumerate(value):
        if type(one) not in _known and (made := settled(one)) is not one:
            twin = list(value) if twin is None else twin
            twin[index] = made
    return value if twin is None else twin


def _drained(given: Iterable[Any]) -> Any:
    """All items; if iterating fails, it fails for the SDK too, after the same items."""
    found: list[Any] = []
    try:
        found.extend(map(settled, given))
    except Exception as error:
        return _failing(found, error)
    return found


def _failing(found: list[Any], error: Exception) -> Iterator[Any]:
    yield from found
    raise error


def bytes_of(content: Any) -> Any:
    """The bytes of a body that is a file or comes in pieces; an async body stays as it is."""
    if hasattr(content, "read"):
        read = content.read()
        return read if isinstance(read, bytes | bytearray | str) else content
    return b"".join(content) if isinstance(content, Iterable) else content
