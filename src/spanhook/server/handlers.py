"""Which handlers definitions may name, and whether a definition can be used."""

import asyncio

from spanhook.definitions import AllowList, HookDefinition, HookRegistry
from spanhook.errors import ConfigurationError
from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal
from spanhook.server.settings import ServerSettings


class Handlers:
    """The handlers of a server.

    Args:
        settings: Names which there are, and which of them reach nothing outside.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self.allowed = None if settings.handlers is None else list(settings.handlers)
        self._all, self._of_tenants = AllowList(self.allowed), AllowList(settings.tenant_handlers)

    async def check(self, principal: Principal, definition: HookDefinition) -> None:
        """Refuse a definition that cannot be used, or not by this caller. The handler is made once, to try it.

        Raises:
            Problem: It cannot be used.
        """
        if not self._all.allows(definition.handler_ref):
            raise Problem(
                "handler_not_allowed",
                f"handler_ref {definition.handler_ref!r} is not allowed; allowed: {', '.join(self._all.entries)}",
            )
        if not principal.may("hooks:admin") and not self._of_tenants.allows(definition.handler_ref):
            raise Problem(
                "scope_missing",
                f"handler_ref {definition.handler_ref!r} can reach files, servers or the environment, and needs the "
                "scope hooks:admin",
            )
        try:
            await asyncio.to_thread(self._make, definition)
        except ConfigurationError as error:
            raise Problem("invalid", str(error)) from None

    def _make(self, definition: HookDefinition) -> None:
        HookRegistry(allowed=self.allowed, max_per_event=1).register(definition)
