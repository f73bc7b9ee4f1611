"""Reads answers strictly: whatever is not exactly as expected is an ``UnreadableAnswer``."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, cast

from spanhook.hooks.remote_policy._verdict import LONGEST_REASON, UnreadableAnswer

Fields = Mapping[str, Any]


def parsed(body: bytes) -> Any:
    """The JSON of a body. A key that is there twice is refused, since readers differ in which of the two they take.

    Raises:
        UnreadableAnswer: It is none.
    """
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise UnreadableAnswer("the answer is no JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def fields(value: Any, what: str, known: Collection[str] | None = None) -> Fields:
    """A mapping; with ``known``, one that has no other keys."""
    if type(value) is not dict:
        raise UnreadableAnswer(f"{what} is not an object")
    mapping = cast("dict[str, Any]", value)
    if known is not None and not mapping.keys() <= set(known):
        raise UnreadableAnswer(f"{what} has keys that are not known")
    return mapping


def items(value: Any, what: str) -> list[Any]:
    """A list."""
    if type(value) is not list:
        raise UnreadableAnswer(f"{what} is not a list")
    return cast("list[Any]", value)


def text(mapping: Fields, key: str, *, needed: bool = False) -> str:
    """A text; empty if it is null or not there, unless it is needed."""
    value = mapping.get(key)
    if value is None and not needed:
        return ""
    if type(value) is not str or (needed and not value):
        raise UnreadableAnswer(f"{key} is not text")
    return value


def reason(mapping: Fields, key: str = "reason") -> str:
    """A text in one line, not too long."""
    return " ".join(text(mapping, key).split())[:LONGEST_REASON]


def flag(mapping: Fields, key: str) -> bool:
    """True or false."""
    value = mapping.get(key)
    if type(value) is not bool:
        raise UnreadableAnswer(f"{key} is neither true nor false")
    return value


def number(mapping: Fields, key: str) -> float | None:
    """A number; ``None`` if it is null or not there."""
    value = mapping.get(key)
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        raise UnreadableAnswer(f"{key} is not a number")
    return float(value)
