"""Texts in structured values: rewrites each where it stands, and keeps the types around it. Knows no patterns."""

import copy
import dataclasses
import re
from collections.abc import Callable, Mapping
from datetime import date, time
from enum import Enum
from typing import Any, cast

Change = Callable[[str], str]

_BASE64 = re.compile(r"(?:data:[\w.+/-]{0,100}(?:;[\w=.-]{1,100}){0,5};base64,)?[A-Za-z0-9+/\r\n]+={0,2}")
_SHORTEST_BLOB = 512
_FEWEST_DIGITS = 9
_ATOMS = (bool, type(None), complex, date, time, Enum, type)


def changed(value: Any, change: Change) -> Any:
    """A value with every text in it changed, at any depth, keys included; the same object if none is.

    Numbers of nine digits and more are changed as text is. Sequences, sets, mappings, dataclasses and pydantic models
    keep their types; other objects stay as they are, and so does base64 of more than 512 characters.

    Args:
        value: Any value.
        change: Returns its argument, if nothing changes.

    Raises:
        RecursionError: It is nested too deeply, or contains itself.
    """
    kind = cast("type[Any]", type(value))
    if isinstance(value, str):
        return _text(value, change)
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, int | float):
        return _number(value, change)
    if isinstance(value, bytes | bytearray):
        return _bytes(value, change)
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), change)
    if isinstance(value, list | tuple | set | frozenset):
        return _items(cast("Any", value), change)
    if hasattr(kind, "model_fields") and hasattr(value, "model_copy"):
        return _model(value, change)
    if dataclasses.is_dataclass(kind):
        return _dataclass(value, change)
    return value


def _text(value: str, change: Change) -> str:
    if len(value) > _SHORTEST_BLOB and _BASE64.fullmatch(value) is not None:
        return value
    new = change(value)
    return value if new == value else new


def _number(value: float, change: Change) -> Any:
    """A number as text, if it is to be changed."""
    if isinstance(value, float) and not value.is_integer():
        return value
    if abs(value) < 10 ** (_FEWEST_DIGITS - 1) or abs(value) >= 1e40:
        return value
    said = str(int(value))
    new = change(said)
    return value if new == said else new


def _bytes(value: Any, change: Change) -> Any:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return value
    new = _text(text, change)
    return value if new == text else type(value)(new.encode("utf-8"))


def _mapping(value: Mapping[Any, Any], change: Change) -> Any:
    made: dict[Any, Any] = {}
    same = True
    for key, one in value.items():
        name = changed(key, change) if isinstance(key, str | int | bytes | tuple) else key
        new = changed(one, change)
        same = same and name is key and new is one
        while name in made:  # two keys that have become the same
            name = f"{name}'"
        made[name] = new
    if same:
        return value
    if type(value) is dict:
        return made
    try:
        twin = cast("Any", value).copy()
        twin.clear()
        twin.update(made)
    except (AttributeError, TypeError):
        return made
    return twin


def _items(value: Any, change: Change) -> Any:
    made = [changed(one, change) for one in value]
    if all(new is old for new, old in zip(made, value, strict=True)):
        return value
    make = getattr(value, "_make", None)  # a named tuple
    return make(made) if make is not None else type(value)(made)


def _model(value: Any, change: Change) -> Any:
    fields: dict[str, Any] = {**value.__dict__, **(getattr(value, "__pydantic_extra__", None) or {})}
    update = {name: new for name, one in fields.items() if (new := changed(one, change)) is not one}
    return value.model_copy(update=update) if update else value


def _dataclass(value: Any, change: Change) -> Any:
    update: dict[str, Any] = {}
    for field in dataclasses.fields(value):
        one = getattr(value, field.name, None)
        new = changed(one, change)
        if new is not one:
            update[field.name] = new
    if not update:
        return value

    twin = copy.copy(value)
    for name, new in update.items():
        object.__setattr__(twin, name, new)
    return twin
