"""Which operation the running code belongs to, and whether it is a hook's own code."""

from contextvars import ContextVar

from spanhook.operation import Operation


class InHook:
    """Stands in for an operation while one of its hooks runs: calls made meanwhile run with hooks off."""

    __slots__ = ("op",)

    def __init__(self, op: Operation) -> None:
        self.op = op


current: ContextVar[Operation | InHook | None] = ContextVar("spanhook.operation", default=None)


def current_operation() -> Operation | None:
    """The operation the caller runs inside; ``None`` outside of any."""
    found = current.get()
    return found.op if isinstance(found, InHook) else found
