"""Finds the class that a definition refers to. Only what is on the allow-list is imported."""

import importlib
from collections.abc import Iterable
from typing import Any

from spanhook.definitions.definition import REFERENCE
from spanhook.errors import ConfigurationError
from spanhook.gating import Marked, handler_of, named
from spanhook.telemetry import telemetry

READY_MADE = "spanhook.hooks"


class AllowList:
    """The classes that definitions may refer to.

    Args:
        entries: Modules with everything inside them, such as ``acme.hooks``, and references, such as
            ``acme.policies:Refunds``. By default the ready-made hooks in ``spanhook.hooks``, the entry points
            ``spanhook_hook`` of installed distributions, and what ``Settings(definitions_allow=...)`` adds.

    Raises:
        ConfigurationError: An entry is neither a module nor a reference.
    """

    def __init__(self, entries: Iterable[str] | None = None) -> None:
        if isinstance(entries, str):
            raise ConfigurationError(f"allowed={entries!r}: expected a list, such as [{entries!r}]")
        self._entries = None if entries is None else tuple(entries)
        _check(self._entries or (), "allowed")

    @property
    def entries(self) -> tuple[str, ...]:
        """Modules and references.

        Raises:
            ConfigurationError: An entry of the settings is neither.
        """
        if self._entries is not None:
            return self._entries
        added = sorted(telemetry.settings.definitions_allow)
        _check(added, "definitions_allow")
        return (READY_MADE, *named().values(), *added)

    def allows(self, reference: str) -> bool:
        """Whether a definition may refer to this class."""
        module = reference.partition(":")[0]
        return any(
            reference == entry or (":" not in entry and f"{module}.".startswith(f"{entry}.")) for entry in self.entries
        )

    def load(self, reference: str) -> Marked:
        """Import the marked class that ``reference`` names.

        Raises:
            ConfigurationError: It is not on the list, cannot be imported, is defined elsewhere, or is not marked with
                ``@handler``.
        """
        if not isinstance(reference, str) or not REFERENCE.fullmatch(  # pyright: ignore[reportUnnecessaryIsInstance]
            reference
        ):
            raise ConfigurationError(
                f"handler_ref {reference!r}: expected a module and one name in it, such as "
                "'spanhook.hooks.tool_policy:ToolPolicy'"
            )
        module_name, _, name = reference.partition(":")
        if not self.allows(reference):
            raise ConfigurationError(
                f"handler_ref {reference!r} is not allowed, and was not imported; allowed: "
                f"{', '.join(self.entries) or 'none'}. Allow its module with "
                + ("Settings(definitions_allow" if self._entries is None else "HookRegistry(allowed")
                + f"=[{module_name!r}])"
            )
        try:
            module = importlib.import_module(module_name)
        except Exception as error:
            raise ConfigurationError(f"handler_ref {reference!r} cannot be imported: {_line(error)}") from error
        cls: Any = vars(module).get(name)
        if cls is None:
            raise ConfigurationError(f"handler_ref {reference!r}: {module_name} has no {name!r}")
        marked = handler_of(cls)
        if marked is None:
            raise ConfigurationError(
                f"handler_ref {reference!r} is not marked as a hook; decorate the class with @handler"
            )
        if not f"{cls.__module__}.".startswith(f"{module_name}."):  # a package may show what its own modules define
            raise ConfigurationError(
                f"handler_ref {reference!r}: {name} is defined in {cls.__module__}; write '{cls.__module__}:{name}'"
            )
        return marked


def _check(entries: Iterable[str], setting: str) -> None:
    """Refuse an entry that is neither a module nor a reference."""
    for entry in entries:
        if not isinstance(entry, str) or not REFERENCE.fullmatch(  # pyright: ignore[reportUnnecessaryIsInstance]
            entry if ":" in str(entry) else f"{entry}:x"
        ):
            raise ConfigurationError(
                f"{setting} has {entry!r}; expected a module such as 'acme.hooks', or a class in it such as "
                "'acme.hooks:Refunds'"
            )


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
