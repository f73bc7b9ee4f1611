"""Which calls of memory stores only pass on writes that were already gated.

A write passes through several methods, and through several stores if one wraps another. A call that carries only items
of the enclosing gated write is that write's transport. Batching stores hand their input to a separate task that serves
all callers: it works on behalf of those who wait for it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from langgraph.store.base import PutOp, SearchOp

from spanhook.model import InHook, Record, Within, current

Item = tuple[Any, ...]
"""The place of a written item: its namespace and key."""

_passed: "WeakKeyDictionary[Record, frozenset[Item]]" = WeakKeyDictionary()
"""The items of writes in progress, including those that they carry for others."""

_waiting: "WeakValueDictionary[Item, Record | InHook]" = WeakValueDictionary()
"""Who waits for something given to a batching store: by store and item."""


def item(namespace: Any, key: Any) -> Item:
    return tuple(namespace), str(key)


def made(items: frozenset[Item]) -> None:
    """The current write has passed its gates and is being made."""
    op = current.get()
    if isinstance(op, Record):
        _passed[op] = items


def passes_on(items: frozenset[Item]) -> bool:
    """Whether a call carries only what the enclosing operation was asked about."""
    around = current.get()
    return isinstance(around, Record) and items <= _passed.get(around, frozenset())


def waits(store: Any, what: Item) -> None:
    """Note that the current operation gives something to a store that may batch it."""
    held = current.get()
    if held is not None and _batches(store):
        _waiting[id(store), *what] = held


def sought(search: SearchOp) -> Item:
    """What identifies a search, which may need a model's embeddings."""
    return tuple(search.namespace_prefix), "?", search.query


def handed_over(store: Any, ops: Iterable[Any]) -> Within | None:
    """On whose behalf a batching store's own task calls the store; ``None`` for other callers."""
    if not _batches(store) or store._task is None or store._task is not _current_task():
        return None
    ops = list(ops)
    written = [item(op.namespace, op.key) for op in ops if isinstance(op, PutOp)]
    writer = _first_waiting(store, written)
    if isinstance(writer, Record):
        _passed[writer] = frozenset(written)  # all of them were gated
        return Within(writer)
    return Within(_first_waiting(store, [sought(op) for op in ops if isinstance(op, SearchOp)]))


def _first_waiting(store: Any, given: Iterable[Item]) -> Record | InHook | None:
    for one in given:
        held = _waiting.get((id(store), *one))
        if held is not None and not (isinstance(held, Record) and held.ended):
            return held
    return None


def _batches(store: Any) -> bool:
    return hasattr(store, "_aqueue")


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
