"""Code that runs in a context of its own: what was current comes back afterwards, whatever happens."""

from types import TracebackType

from opentelemetry.context import Context

from spanhook.model import Identity, InHook, Record, ambient, current
from spanhook.telemetry import get_context, set_context


class Elsewhere:
    """A block in which something else is current.

    Args:
        held: The operation, or the hook, that is current.
        context: The OpenTelemetry context.
        identity: Whose it is.
    """

    __slots__ = ("_before", "_then")

    def __init__(self, held: Record | InHook | None, context: Context, identity: Identity) -> None:
        self._then = held, context, identity
        self._before = current.get(), get_context(), ambient.get()

    def __enter__(self) -> None:
        held, context, identity = self._then
        set_context(context)
        current.set(held)
        ambient.set(identity)

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        held, context, identity = self._before
        try:
            set_context(context)
        finally:
            try:
                current.set(held)
            finally:
                ambient.set(identity)
