"""Which handlers definitions may name, and whether a definition can be used."""

import asyncio
import importlib
from collections.abc import Mapping
from typing import Any

from pydantic.errors import PydanticUserError

from spanhook.definitions import AllowList, HookDefinition, HookRegistry
from spanhook.errors import ConfigurationError
from spanhook.gating import find
from spanhook.server.problems import Problem
from spanhook.server.scopes import Principal
from spanhook.server.settings import ServerSettings

BEYOND = (
    "can reach files, servers or the environment, and needs the scope hooks:admin of an operator, who may also list it "
    "in the setting tenant_handlers"
)


_COUNTING = ("budget", "rate_limit")


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
        if not self.is_for(principal, definition.handler_ref):
            raise Problem("scope_missing", f"handler_ref {definition.handler_ref!r} {BEYOND}")
        try:
            await asyncio.to_thread(self._make, definition)
        except ConfigurationError as error:
            raise Problem("invalid", str(error)) from None

    def is_for(self, principal: Principal, reference: str) -> bool:
        """Whether a caller may use a handler: one without ``hooks:admin`` only those that reach nothing outside."""
        return principal.may("hooks:admin") or self._of_tenants.allows(reference)

    async def takes(self, principal: Principal, policy: Mapping[str, Any]) -> bool:
        """Whether a caller may have a policy. Counters may be in any store that processes name themselves."""
        given: Any = policy.get("with") or {}
        if policy["use"] in _COUNTING and "://" not in str(given.get("store", "")):
            return True
        try:
            cls = await asyncio.to_thread(find, policy["use"])
        except ConfigurationError:
            return False
        return self.is_for(principal, f"{cls.__module__}:{cls.__name__}")

    async def schema(self, reference: str) -> dict[str, Any] | None:
        """The JSON schema of a handler's settings; ``None`` if it takes none.

        Raises:
            Problem: It is not allowed, or cannot be used.
        """
        if not self._all.allows(reference):
            raise Problem("handler_not_allowed", f"handler_ref {reference!r} is not allowed")
        return await asyncio.to_thread(self._schema, reference)

    async def choices(self, principal: Principal) -> list[str]:
        """References to the handlers that are known by name, and that the caller may use."""
        found = await asyncio.to_thread(self._choices)
        return [one for one in found if self.is_for(principal, one)]

    def _schema(self, reference: str) -> dict[str, Any] | None:
        try:
            config = self._all.load(reference).config
            return None if config is None else config.model_json_schema()
        except (ConfigurationError, PydanticUserError) as error:
            raise Problem("invalid", str(error)) from None

    def _choices(self) -> list[str]:
        """Entries that are classes, under the name of the module that they are defined in."""
        return sorted({found for entry in self._all.entries if (found := self._where(entry))})

    def _where(self, entry: str) -> str:
        module, _, name = entry.partition(":")
        if not name:
            return ""
        try:
            cls: Any = getattr(importlib.import_module(module), name)
        except Exception:  # an extra that is not installed here
            return ""
        found = f"{cls.__module__}:{cls.__name__}"
        return found if self._all.allows(found) else entry

    def _make(self, definition: HookDefinition) -> None:
        HookRegistry(allowed=self.allowed, max_per_event=1).register(definition)
