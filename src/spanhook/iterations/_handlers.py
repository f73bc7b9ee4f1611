"""Custom handlers: called in the order in which they were registered, isolated from each other."""

from collections.abc import Awaitable
from typing import Any, cast

from spanhook.diagnostics import Repeats, log
from spanhook.errors import ConfigurationError
from spanhook.iterations._context import Handler, HookContext, HookEvent
from spanhook.iterations._ways import Way

_repeats = Repeats()


class Handlers:
    """The handlers of each event. They can change at any time; a change applies from the next event on."""

    def __init__(self) -> None:
        self._handlers: dict[HookEvent, list[Handler]] = {event: [] for event in HookEvent}

    def add(self, event: HookEvent, handler: Handler) -> None:
        handlers = self._of(event)
        if not callable(handler):
            raise ConfigurationError(f"register_handler({event!r}, {handler!r}): expected a function (context)")
        if handler not in handlers:
            handlers.append(handler)

    def remove(self, event: HookEvent, handler: Handler) -> bool:
        handlers = self._of(event)
        try:
            handlers.remove(handler)
        except ValueError:
            return False
        return True

    def _of(self, event: HookEvent) -> list[Handler]:
        found = self._handlers.get(event)
        if found is None:
            known = ", ".join(f"HookEvent.{one.name}" for one in HookEvent)
            raise ConfigurationError(f"there is no event {event!r}; expected one of {known}")
        return found

    async def tell(self, way: Way, context: HookContext) -> None:
        """Call every handler of an event. Exceptions are logged."""
        for handler in tuple(self._handlers[context.event]):
            try:
                came: Any = handler(context)
                if isinstance(came, Awaitable):
                    await way.told(cast("Awaitable[Any]", came))
            except Exception as error:
                name = getattr(handler, "__qualname__", None) or type(handler).__qualname__
                if _repeats.due(f"{context.event} {name}") is not None:
                    log.error("spanhook: handler %r of %s failed", name, context.event, exc_info=error)
