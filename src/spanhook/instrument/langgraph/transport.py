"""Which calls of memory stores only pass on what was gated before.

A write passes through several methods, and through several stores where one wraps another. What carries no other item
than such as the write around it was asked about is that write's transport. Stores that batch hand what they are given
over to a task of their own, which serves everybody: what it does is done for those who wait for it.
"""

import asyncio
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from langgraph.store.base import PutOp, SearchOp

from spanhook.model import InHook, Record, Within, current

Item = tuple[Any, ...]
"""Where something is written: its namespace and key."""

_passed: "WeakKeyDictionary[Record, frozenset[Item]]" = WeakKeyDictionary()
"""The items of writes that are being made, with whatever they carry for others."""

_waiting: "WeakValueDictionary[Item, Record | InHook]" = WeakValueDictionary()
"""Who waits for what a batching store was given: by the store, and what that is."""


def item(namespace: Any, key: Any) -> Item:
    return tuple(namespace), str(key)


def made(items: frozenset[Item]) -> None:
    """The write that is current has passed its gates and is made now."""
    op = current.get()
    if isinstance(op, Record):
        _passed[op] = items


def passes_on(items: frozenset[Item]) -> bool:
    """Whether a call carries nothing but what the operation around it was asked about."""
    around = current.get()
    return isinstance(around, Record) and items <= _passed.get(around, frozenset())


def waits(store: Any, what: Item) -> None:
    """Whoever is current gives something to a store that may batch it."""
    held = current.get()
    if held is not None and _batches(store):
        _waiting[id(store), *what] = held


def sought(search: SearchOp) -> Item:
    """What is looked for, which may take a model's embeddings."""
    return tuple(search.namespace_prefix), "?", search.query


def handed_over(store: Any, ops: Iterable[Any]) -> Within | None:
    """For whom a batching store's own task calls it; ``None`` where it does not."""
    if not _batches(store) or store._task is None or store._task is not _current_task():
        return None
    ops = list(ops)
    written = [item(op.namespace, op.key) for op in ops if isinstance(op, PutOp)]
    writer = _first_waiting(store, written)
    if isinstance(writer, Record):
        _passed[writer] = frozenset(written)  # each of which was gated
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
