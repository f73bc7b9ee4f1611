"""Texts in structured values: rewrites each where it stands, and keeps the types around it. Knows no patterns."""

import copy
import dataclasses
from collections import ChainMap, UserList, UserString, deque
from collections.abc import Callable, ItemsView, KeysView, Mapping, ValuesView
from datetime import date, time
from decimal import Decimal
from enum import Enum
from numbers import Integral
from types import SimpleNamespace
from typing import Any, cast

from spanhook.model import MEDIA_ROOT, MediaPlace, media_fields

Change = Callable[[str], str]

_FEWEST_DIGITS = 9
_ATOMS = (bool, type(None), complex, date, time, Enum, type)
_SEVERAL = (list, tuple, set, frozenset, deque, UserList, KeysView, ValuesView, ItemsView)
_KEYS = (str, int, bytes, tuple, frozenset, Decimal)


def changed(value: Any, change: Change, place: MediaPlace | None = MEDIA_ROOT) -> Any:
    """A value with every text in it changed, at any depth, keys included; the same object if none is.

    Numbers of nine digits and more are changed as text is. Sequences, sets, mappings, namespaces, dataclasses, classes
    of attrs and pydantic models keep their types, views of mappings become lists; other objects stay as they are, and
    so does the content of media.

    Args:
        value: Any value.
        change: Returns its argument, if nothing changes.
        place: Where the value is; ``None`` if there is no place for media in it.

    Raises:
        RecursionError: It is nested too deeply, or contains itself.
    """
    kind = cast("type[Any]", type(value))
    if isinstance(value, str):
        new = change(value)
        return value if new == value else new
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, int | float):
        return _number(value, change)
    if isinstance(value, bytes | bytearray):
        return _bytes(value, change)
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), change, place)
    if isinstance(value, _SEVERAL):
        return _items(cast("Any", value), change, place)
    if hasattr(kind, "model_fields") and hasattr(value, "model_copy"):
        return _model(value, change, place)
    if dataclasses.is_dataclass(kind):
        return _object(value, (field.name for field in dataclasses.fields(value)), change, place)
    if isinstance(value, SimpleNamespace):
        return _object(value, list(vars(value)), change, place)
    if hasattr(kind, "__attrs_attrs__"):
        return _object(value, (field.name for field in kind.__attrs_attrs__), change, place)
    if isinstance(value, Decimal | Integral):
        return _number(value, change)
    if isinstance(value, UserString):
        new = changed(value.data, change)
        return value if new is value.data else kind(new)
    return value


def _number(value: Any, change: Change) -> Any:
    """A number as text, if it is to be changed."""
    if isinstance(value, Decimal) and not value.is_finite():
        return value
    if not (-1e40 < value < 1e40) or abs(value) < 10 ** (_FEWEST_DIGITS - 1) or value != int(value):
        return value
    said = str(int(value))
    new = change(said)
    return value if new == said else new


def _bytes(value: Any, change: Change) -> Any:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return value
    new = change(text)
    return value if new == text else type(value)(new.encode("utf-8"))


def _inner(fields: Mapping[Any, Any], change: Change, place: MediaPlace | None) -> list[tuple[Any, Any, Any]]:
    """Each field with its value and with that value changed."""
    media = () if place is None else media_fields(fields, place)
    found: list[tuple[Any, Any, Any]] = []
    for name, one in fields.items():
        new = one
        if one is not None and name not in media:
            inside = place if place is None or isinstance(one, str) else MediaPlace(name, fields)
            new = changed(one, change, inside)
        found.append((name, one, new))
    return found


def _mapping(value: Mapping[Any, Any], change: Change, place: MediaPlace | None) -> Any:
    made: dict[Any, Any] = {}
    same = True
    for key, one, new in _inner(value, change, place):
        name = changed(key, change) if isinstance(key, _KEYS) else key
        same = same and name is key and new is one
        while name in made:  # two keys that have become the same
            name = f"{name}'"
        made[name] = new
    if same:
        return value
    if type(value) is dict or isinstance(value, ChainMap):  # a copy of this one shares the maps behind it
        return made
    try:
        twin = cast("Any", value).copy()
        twin.clear()
        twin.update(made)
    except (AttributeError, TypeError):
        return made
    return twin


def _items(value: Any, change: Change, place: MediaPlace | None) -> Any:
    made = [changed(one, change, place) for one in value]
    if all(new is old for new, old in zip(made, value, strict=True)):
        return value
    if isinstance(value, KeysView | ValuesView | ItemsView):
        return made
    if isinstance(value, deque):
        return type(cast("Any", value))(made, value.maxlen)
    make = getattr(value, "_make", None)  # a named tuple
    return make(made) if make is not None else type(value)(made)


def _model(value: Any, change: Change, place: MediaPlace | None) -> Any:
    fields: dict[str, Any] = {**value.__dict__, **(getattr(value, "__pydantic_extra__", None) or {})}
    update = {name: new for name, one, new in _inner(fields, change, place) if new is not one}
    return value.model_copy(update=update) if update else value


def _object(value: Any, names: Any, change: Change, place: MediaPlace | None) -> Any:
    fields = {name: getattr(value, name, None) for name in names}
    update = {name: new for name, one, new in _inner(fields, change, place) if new is not one}
    if not update:
        return value
    twin = copy.copy(value)
    for name, new in update.items():
        object.__setattr__(twin, name, new)
    return twin
