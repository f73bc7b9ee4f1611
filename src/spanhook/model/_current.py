"""Which operation the running code belongs to, and whether a hook is running."""

from contextvars import ContextVar
from dataclasses import dataclass

from spanhook.model.operation import Operation, view_of
from spanhook.model.record import Record


class InHook:
    """Stands in for an operation while one of its hooks runs: calls made meanwhile run with hooks off."""

    __slots__ = ("__weakref__", "op")

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


def current_operation() -> Operation | None:
    """A read-only view of the operation the caller runs inside; ``None`` outside any operation."""
    found = current_record()
    return None if found is None else view_of(found)
