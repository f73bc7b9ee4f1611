"""States of points, and which of them have to be bound in the installed version."""

import sys
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from typing import Any

BOUND, WAITING, MISSING = "bound", "waiting", "missing"
"""States of a point: wrapped; its module is not imported yet; missing in this version."""


def needed(entry: Any, table: Collection[Any], states: Mapping[str, str]) -> bool:
    """Whether an entry has to be bound: it is not optional, and no other one of the same function is bound."""
    return not entry.optional and all(states.get(str(one)) != BOUND for one in _others(entry, table))


def lacked(entry: Any, table: Collection[Any], states: Mapping[str, str]) -> bool:
    """Whether what a missing entry is for cannot be bound anywhere, although it has to be."""
    return not entry.optional and all(_is_gone(one, states) for one in _others(entry, table))


def _others(entry: Any, table: Collection[Any]) -> list[Any]:
    """The entries of the same function in other versions."""
    what = getattr(entry, "either", "")
    return [one for one in table if what and one is not entry and getattr(one, "either", "") == what]


def _is_gone(entry: Any, states: Mapping[str, str]) -> bool:
    state = states.get(str(entry))
    return state == MISSING or (state == WAITING and not _exists(entry.module))


def _exists(module: str) -> bool:
    try:
        return module in sys.modules or find_spec(module) is not None
    except Exception:
        return False  # what it would be in is no package, or cannot be imported here
