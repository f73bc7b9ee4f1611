"""Which operation the running code belongs to, and whether a hook is running."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from spanhook.model.adapter import Adapter
from spanhook.model.operation import Operation, view_of
from spanhook.model.record import Record


class InHook:
    """Stands in for an operation while one of its hooks runs: calls made meanwhile run with hooks off."""

    __slots__ = ("__weakref__", "op")

    in_hook = True

    def __init__(self, op: Record) -> None:
        self.op = op


current: ContextVar[Record | InHook | None] = ContextVar("spanhook.operation", default=None)


def current_record() -> Record | None:
    """The engine's record of the operation the caller runs inside; none that has ended, except in its own hooks."""
    found = current.get()
    if isinstance(found, InHook):
        return found.op
    while found is not None and found.ended:
        found = found.parent
    return found


@dataclass(frozen=True, slots=True)
class Within:
    """Marks a call that is no operation itself, but made on behalf of what was current elsewhere.

    Attributes:
        held: What was current there; ``None`` if nothing.
    """

    held: Record | InHook | None


@dataclass(frozen=True, slots=True)
class Turn:
    """Marks a call that is one turn of an operation, which lasts over several calls and contains what they do.

    The first turn begins it. It ends with a turn that is the last, with one that fails, before a turn of another one,
    and at the latest with the operation around it.

    Attributes:
        adapter: How the operation is read; its arguments are those of the first turn.
        instance: Whose turn it is.
        around: The operation around it.
        is_last: Whether a turn that has returned this is the last.
    """

    adapter: Adapter
    instance: Any
    around: Record
    is_last: Callable[[Any], bool]


def current_operation() -> Operation | None:
    """A read-only view of the operation the caller runs inside; ``None`` outside any operation."""
    found = current_record()
    return None if found is None else view_of(found)
