"""The cache of nodes: nothing is kept of a node once hooks have replaced, rewritten or refused something in its run.

A hit runs no node, so it would give to everybody what hooks have decided for one caller.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from spanhook.model import Args, Kwargs, current_record, first

_CHANGES = frozenset(("reject", "modify", "replace", "error", "timeout"))

_changed: "WeakValueDictionary[int, Any]" = WeakValueDictionary()
"""By id: what nodes have written that is not to be kept. The cache gets it from a thread without any context."""


def ran(_instance: Any, args: Args, kwargs: Kwargs, _result: Any) -> None:
    """A node has run: note whether hooks have changed anything in its run before it ended."""
    task = args[0] if args else kwargs["task"]  # it runs for every node
    if task.cache_key is None:
        return
    op = current_record()
    if op is None:
        return
    decided = op.root.__dict__.get("run_decisions") or ()
    if op.kind == "workflow.step":  # which has not ended
        decided = (*decided, *(one.decision for one in op.decisions))
    if not _CHANGES.isdisjoint(decided):
        _changed[id(task.writes)] = task.writes


def hold(_write: Callable[..., Any], args: Args, kwargs: Kwargs) -> bool:
    """Whether the cache does not get what a node has written."""
    return any(id(writes) in _changed for writes, _ in first(args, kwargs, "pairs").values())
