"""Requests as plain data, before anybody reads them: what is read once is kept, and is then sent.

The SDKs take any mapping for a dict, and any sequence, set, view or iterator for a list, and make JSON of them only on
the way out. A hook that looked at such a request would see nothing of it, or would use up what was to be sent.
"""

from collections import UserString
from collections.abc import Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

_NO_LISTS = (str, bytes, bytearray, memoryview, UserString)
_LISTS = (Sequence, AbstractSet, MappingView, Iterator)
_LEFT_OUT = ("Omit", "NotGiven")
_known: set[type] = {str, int, float, bool, type(None)}
"""Plain types, and what the SDKs have in place of a field that is left out, as most are: known once seen."""


def settle(options: Any) -> None:
    """Put plain data in place of what the options of a request would send, wherever it is not plain already.

    What contains itself stays as it is; no SDK can send it.
    """
    try:
        for name in ("json_data", "extra_json"):
            given = getattr(options, name, None)
            if given is not None and (settled := _settled(given)) is not given:
                setattr(options, name, settled)
    except RecursionError:
        return
    content = getattr(options, "content", None)
    if content is not None and not isinstance(content, bytes | bytearray | str):
        read = _bytes_of(content)
        if read is not content:
            options.content = read


def _settled(value: Any) -> Any:
    """The same if it is plain data all through, or what only the SDK knows how to send; else a copy that is."""
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
        if type(one) not in _known and (settled := _settled(one)) is not one:
            twin = value.copy() if twin is None else twin
            twin[name] = settled
    return value if twin is None else twin


def _settled_list(value: Any) -> Any:
    twin: list[Any] | None = None
    for index, one in enumerate(value):
        if type(one) not in _known and (settled := _settled(one)) is not one:
            twin = list(value) if twin is None else twin
            twin[index] = settled
    return value if twin is None else twin


def _drained(given: Iterable[Any]) -> Any:
    """All that comes of it; where that fails, it fails for the SDK too, after what came before."""
    found: list[Any] = []
    try:
        found.extend(map(_settled, given))
    except Exception as error:
        return _failing(found, error)
    return found


def _failing(found: list[Any], error: Exception) -> Iterator[Any]:
    yield from found
    raise error


def _bytes_of(content: Any) -> Any:
    """A body that is read, or comes in pieces; one that only an event loop can read stays as it is."""
    if hasattr(content, "read"):
        read = content.read()
        return read if isinstance(read, bytes | bytearray | str) else content
    return b"".join(content) if isinstance(content, Iterable) else content
