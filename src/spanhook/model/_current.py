"""Which operation the running code belongs to, and whether it is a hook's own code."""

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
    """The operation the caller runs inside, as the engine keeps it; none that has ended but for its hooks."""
    found = current.get()
    if isinstance(found, InHook):
        return found.op
    while found is not None and found.ended:
        found = found.parent
    return found


@dataclass(frozen=True, slots=True)
class Within:
    """Says of a call that it is none of its own, and made for what was current elsewhere.

    Attributes:
        held: What that was; ``None`` if nothing.
    """

    held: Record | InHook | None


def current_operation() -> Operation | None:
    """The operation the caller runs inside, to be read; ``None`` outside of any."""
    found = current_record()
    return None if found is None else view_of(found)
