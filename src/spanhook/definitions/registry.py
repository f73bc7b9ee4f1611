"""The registry of middleware and definitions. Each change applies as a whole.

It is built on one ``Hooks``, so its hooks run in one chain with all others. An operation keeps the hooks it began with.
"""

import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spanhook.definitions._building import agent_models
from spanhook.definitions.definition import HookDefinition
from spanhook.definitions.directory import load_definitions, mistakes
from spanhook.definitions.entries import Entering, RegisteredHook, check_number, statistics_of
from spanhook.definitions.handler_refs import AllowList
from spanhook.definitions.middleware import Middleware
from spanhook.definitions.statistics import Figures, RegistryStatistics
from spanhook.engine import registry as active_hooks
from spanhook.errors import ConfigurationError
from spanhook.fork import after_fork
from spanhook.gating import Hook, HookExecutionLog, Hooks, execution_log, find, handler_of, named, report_loosened
from spanhook.telemetry import telemetry

_registries: "weakref.WeakSet[HookRegistry]" = weakref.WeakSet()


class HookRegistry:
    """Middleware and definitions. Give it to ``spanhook.instrument``.

    Every method may be called from any thread while operations run. A call that raises has changed nothing.

    Args:
        allowed: Modules and references that ``handler_ref`` may name. By default the ready-made hooks and those of
            installed distributions.
        max_per_event: How many hooks one event may have for one tenant, disabled ones included; by default as in
            the settings.
        concurrent: Events, such as ``agent.invoke.post``, at which the hooks run at the same time.
    """

    def __init__(
        self,
        *,
        allowed: Iterable[str] | None = None,
        max_per_event: int | None = None,
        concurrent: Iterable[str] = (),
    ) -> None:
        if max_per_event is not None and (type(max_per_event) is not int or max_per_event < 1):
            raise ConfigurationError(f"max_per_event={max_per_event!r}; expected a whole number above 0")
        self.hooks = Hooks()
        self._entering = Entering(AllowList(allowed), concurrent)
        self._most = max_per_event
        self._entries: dict[str, RegisteredHook] = {}
        self._running: list[Hook] = []
        self._models = agent_models()
        self._lock = threading.RLock()
        _registries.add(self)

    def __spanhook_hooks__(self) -> Hooks:
        return self.hooks

    # ----------------------------------------------------------------- what is registered

    def register(self, hook: HookDefinition | Middleware | Mapping[str, Any], **settings: Any) -> RegisteredHook:
        """Register a definition, a mapping with the fields of one, or an object with ``execute``.

        Args:
            hook: What to register.
            **settings: For an object; they override its attributes: ``name``, ``event_type``, ``priority``,
                ``enabled``, ``tenant_id``, ``timeout_ms``, ``fail_mode``, ``mode``, ``hook_id``, ``log_executions``.

        Raises:
            ConfigurationError: It cannot be used, its id is taken, or its event has too many hooks.
        """
        entry = self._entering.given(hook, settings)
        with self._lock:
            if entry.hook_id in self._entries:
                raise ConfigurationError(
                    f"there is a hook with the id {entry.hook_id!r} already; call update(), or give it another id"
                )
            self._become({**self._entries, entry.hook_id: entry})
        return entry

    def deregister(self, hook_id: str) -> bool:
        """Remove a hook. Returns whether there was one."""
        with self._lock:
            if hook_id not in self._entries:
                return False
            self._become({known: one for known, one in self._entries.items() if known != hook_id})
        return True

    def get(self, hook_id: str) -> RegisteredHook | None:
        """A hook by its id; ``None`` if there is none."""
        return self._entries.get(hook_id)

    def registered(
        self, *, event_type: str | None = None, tenant_id: str | None = None, enabled: bool | None = None
    ) -> list[RegisteredHook]:
        """The registered hooks, in order of registration; ``None`` means all."""
        return [
            one
            for one in list(self._entries.values())
            if event_type in (None, one.event_type)
            and tenant_id in (None, one.tenant_id)
            and enabled in (None, one.enabled)
        ]

    def get_hooks(self, event_type: str, tenant_id: str = "") -> list[RegisteredHook]:
        """The hooks that run at an event for a tenant, in order: hooks for all tenants and for this one."""
        found = self.registered(event_type=event_type, enabled=True)
        mine = [one for one in found if one.tenant_id in ("", tenant_id)]
        return sorted(mine, key=lambda one: (one.priority, bool(one.tenant_id)))

    def count(self) -> int:
        """How many hooks are registered."""
        return len(self._entries)

    # ----------------------------------------------------------------- changes

    def update(self, hook_id: str, /, **changes: Any) -> RegisteredHook:
        """Change fields of a definition. Operations in progress keep the old hook.

        Raises:
            ConfigurationError: There is no such hook, it is not a definition, or a value cannot be used.
        """
        with self._lock:
            entry = self._known(hook_id)
            if entry.definition is None:
                if changes.keys() != {"enabled"}:
                    raise ConfigurationError(
                        f"hook {hook_id!r} was registered as an object; only definitions can be updated: deregister "
                        "it and register another"
                    )
                return self._enable(hook_id, enabled=changes["enabled"])
            if changes.get("hook_id", changes.get("id", hook_id)) != hook_id:
                raise ConfigurationError(f"the id of hook {hook_id!r} cannot be changed")
            try:
                definition = entry.definition.changed(**changes)
            except ValidationError as error:
                raise ConfigurationError(f"hook {hook_id!r}: {mistakes(error)}") from error
            entry = self._entering.defined(definition, entry.figures, entry.source)
            self._become({**self._entries, hook_id: entry})
        return entry

    def enable(self, hook_id: str) -> RegisteredHook:
        """Enable a hook.

        Raises:
            ConfigurationError: There is no such hook.
        """
        return self._enable(hook_id, enabled=True)

    def disable(self, hook_id: str) -> RegisteredHook:
        """Disable a hook. It stays registered, but does not run.

        Raises:
            ConfigurationError: There is no such hook.
        """
        return self._enable(hook_id, enabled=False)

    def toggle(self, hook_id: str) -> RegisteredHook:
        """Enable a disabled hook, or disable an enabled one.

        Raises:
            ConfigurationError: There is no such hook.
        """
        with self._lock:
            return self._enable(hook_id, enabled=not self._known(hook_id).enabled)

    # ----------------------------------------------------------------- many at once

    def load(self, directory: str | Path | None = None) -> list[RegisteredHook]:
        """Register the definitions of a directory, all or none; see ``load_definitions``.

        Call it again to apply changes: hooks with deleted definitions are removed, and hooks with unchanged ones keep
        their handler and statistics.

        Args:
            directory: The directory; by default ``Settings(definitions_dir=...)``.

        Raises:
            ConfigurationError: A definition cannot be used, or no directory is given.
        """
        directory = telemetry.settings.definitions_dir if directory is None else directory
        if directory is None:
            raise ConfigurationError("load() was given no directory, and Settings(definitions_dir=...) names none")
        source = str(Path(directory).resolve())
        definitions = load_definitions(directory)
        with self._lock:
            entries = {known: one for known, one in self._entries.items() if one.source != source}
            for definition in definitions:
                if definition.hook_id in entries:
                    raise ConfigurationError(f"{directory}: hook_id {definition.hook_id!r} is registered already")
                before = self._entries.get(definition.hook_id)
                if before is None or before.definition is None or not before.definition.is_like(definition):
                    before = self._entering.loaded(definition, before.figures if before else Figures(), directory)
                entries[definition.hook_id] = before
            active = active_hooks.enforcement
            self._become(entries)
            now = active_hooks.enforcement
        report_loosened("definitions", str(directory), active, now)
        return [entries[one.hook_id] for one in definitions]

    def adopt(self, definitions: Iterable[HookDefinition], before: "HookRegistry | None" = None) -> dict[str, str]:
        """Register exactly these definitions; returns why some were left out, by id. See ``Entering.adopted``.

        Raises:
            ConfigurationError: An event would have too many hooks.
        """
        entries, unusable = self._entering.adopted(definitions, {} if before is None else before._entries)
        with self._lock:
            self._become(entries)
        return unusable

    def available(self) -> dict[str, str]:
        """References by name to the entry points ``spanhook_hook`` of installed distributions.

        Raises:
            ConfigurationError: Two distributions have different hooks of the same name.
        """
        return named()

    def discover(self) -> list[RegisteredHook]:
        """Register the middleware of installed distributions that needs no settings.

        These are classes in the entry-point group ``spanhook_hook`` that have ``execute`` and ``event_type``. Their id
        is the entry point's name. Hooks that are registered already do not change.

        Raises:
            ConfigurationError: A class cannot be imported or used.
        """
        added: list[RegisteredHook] = []
        for name in sorted(named()):
            cls: Any = find(name)
            marked = handler_of(cls)
            if marked is None or not (hasattr(cls, "execute") and hasattr(cls, "event_type")):
                continue
            with self._lock:
                if name not in self._entries:
                    added.append(self.register(marked.build({}), hook_id=name))
        return added

    # ----------------------------------------------------------------- what has happened

    def logs(self, *, event_type: str | None = None, tenant_id: str | None = None) -> list[HookExecutionLog]:
        """The execution log of this process, newest first; ``None`` means all."""
        return [
            one
            for one in execution_log.entries()
            if event_type in (None, one.event_type) and tenant_id in (None, one.tenant_id)
        ]

    def statistics(self) -> RegistryStatistics:
        """Statistics of all registered hooks."""
        return statistics_of(list(self._entries.values()))

    # ----------------------------------------------------------------- applying changes

    def _become(self, entries: dict[str, RegisteredHook]) -> None:
        """Apply exactly these entries, or change nothing. The lock is held."""
        most = telemetry.settings.max_per_event if self._most is None else self._most
        check_number(entries.values(), most)
        enabled = [one for one in entries.values() if one.enabled]
        running: list[Hook] = [function for one in enabled for function in one.functions]
        if any(one.event_type.startswith("agent.invoke") and not isinstance(one.handler, Hook) for one in enabled):
            running.append(self._models)
        self.hooks.exchange(self._running, running)
        self._entries, self._running = entries, running

    def _enable(self, hook_id: str, *, enabled: bool) -> RegisteredHook:
        with self._lock:
            entry = self._known(hook_id)
            if entry.enabled != enabled:
                definition = entry.definition and entry.definition.changed(enabled=enabled)
                entry = replace(entry, enabled=enabled, definition=definition)
                self._become({**self._entries, hook_id: entry})
            return entry

    def _known(self, hook_id: str) -> RegisteredHook:
        entry = self._entries.get(hook_id)
        if entry is None:
            raise ConfigurationError(f"there is no hook with the id {hook_id!r}")
        return entry


def _renew() -> None:
    for registry in list(_registries):
        registry._lock = threading.RLock()
        for one in list(registry._entries.values()):
            one.figures.renew()


after_fork("definitions", _renew)
