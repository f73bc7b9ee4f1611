"""The cache of nodes: nothing is kept of a node once hooks have replaced, rewritten or refused something in its run.

A hit runs no node, so it would give to everybody what hooks have decided for one caller.
"""

from collections.abc import Callable, Collection
from typing import Any
from weakref import ref

from spanhook.model import Args, Kwargs, Record, current_record, first

_CHANGES = frozenset(("reject", "modify", "replace", "error", "timeout"))

_requested: dict[ref[Record], set[Any]] = {}
"""By the outermost operation of a run: the keys that it has looked up, as LangGraph does before it runs a node. The
cache is written by a thread without any context.
"""


def reads(_read: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """A run asks for keys: remember which. Nothing is held back."""
    op, keys = current_record(), first(args, kwargs, "keys")
    if op is not None and isinstance(keys, Collection):  # an application's own might be read only once
        _requested.setdefault(ref(op.root, _forget), set()).update(keys)
    return False


def _forget(root: ref[Record]) -> None:
    _requested.pop(root, None)


def hold(_write: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """Whether the cache does not get what nodes have written: hooks have changed something in a run of theirs."""
    pairs = first(args, kwargs, "pairs")
    runs = _requested.copy().items()  # others are added, and collected, by other threads meanwhile
    return any(_is_changed(root()) for root, keys in runs if any(key in keys for key in pairs))


def _is_changed(root: Record | None) -> bool:
    return root is not None and not _CHANGES.isdisjoint(root.run_decisions or ())
