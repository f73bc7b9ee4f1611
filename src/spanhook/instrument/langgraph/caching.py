"""The cache of nodes: nothing is kept of a node once hooks have replaced, rewritten or refused something in its run.

A hit runs no node, so it would give to everybody what hooks have decided for one caller.
"""

from collections.abc import Callable, Collection
from typing import Any
from weakref import ref

from spanhook.instrument.caches import hooked
from spanhook.model import Args, Kwargs, Record, current_record, first

_CHANGES = frozenset(("reject", "modify", "replace", "error", "timeout"))

_requested: dict[ref[Record], set[Any]] = {}
"""By the run of a graph: the keys that it has looked up, as LangGraph does before it runs a node. The cache is written
by a thread without any context, before the run has ended.
"""


def reads(_read: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """A run asks for keys: remember which. Nothing is held back."""
    run, keys = current_record(), first(args, kwargs, "keys")
    while run is not None and run.kind != "agent.invoke" and run.parent is not None:
        run = run.parent
    if run is not None and isinstance(keys, Collection):  # an application's own might be read only once
        _requested.setdefault(ref(run, _forget), set()).update(keys)
    return False


def _forget(run: ref[Record]) -> None:
    _requested.pop(run, None)


def hold(_write: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """Whether the cache does not get what nodes have written: hooks have changed something around a run of theirs."""
    pairs = first(args, kwargs, "pairs")
    runs = _requested.copy().items()  # others are added, and collected, by other threads meanwhile
    return any(_is_changed(run()) for run, keys in runs if any(key in keys for key in pairs))


def _is_changed(run: Record | None) -> bool:
    """Whether hooks have changed something around a run, or may have.

    A run that has ended writes no more, unless its stream was dropped: nodes that go on then are not part of it.
    """
    if run is None:
        return False
    if run.ended:
        return run.status == "abandoned" and hooked()
    return not _CHANGES.isdisjoint(run.run.decisions)
