"""The entries of a registry, and creating them from definitions and objects."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from pydantic import ValidationError

from spanhook.definitions._building import RegisteredFunction, functions_of, note
from spanhook.definitions.definition import HookDefinition, split_event
from spanhook.definitions.directory import mistakes
from spanhook.definitions.handler_refs import AllowList
from spanhook.definitions.middleware import Middleware, check
from spanhook.definitions.statistics import Figures, RegistryStatistics
from spanhook.errors import ConfigurationError
from spanhook.gating import FailMode, Hook, HookSettings, bindings, execution_log

_ATTRIBUTES = ("hook_id", "name", "event_type", "priority", "enabled", "tenant_id", "timeout_ms", "fail_mode")
_SETTINGS = (*_ATTRIBUTES, "mode", "log_executions")
MIDDLEWARE_PRIORITY = 100
"""The priority of middleware that has none of its own."""


@dataclass(frozen=True, slots=True)
class RegisteredHook:
    """One hook of a registry.

    Attributes:
        hook_id, name, event_type, tenant_id, enabled: As in ``HookDefinition``.
        priority: Where it runs; the handler's own if the definition has none. The lowest, if its methods differ.
        fail_mode: What happens if it fails there, unless the settings of the process say ``closed`` for all.
        handler: What runs: an object with ``execute``, or a ``Hook``.
        definition: Its definition; ``None`` if an object was registered.
    """

    hook_id: str
    name: str
    event_type: str
    priority: int
    fail_mode: FailMode
    tenant_id: str
    enabled: bool
    handler: Hook | Middleware
    definition: HookDefinition | None
    functions: tuple[RegisteredFunction, ...]
    figures: Figures
    source: str = ""


def check_number(entries: Iterable[RegisteredHook], most: int) -> None:
    """Refuse more hooks for one event and tenant than there may be.

    Raises:
        ConfigurationError: There would be too many.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for one in entries:
        counts[one.event_type, one.tenant_id] += 1
        if counts[one.event_type, one.tenant_id] > most:
            whose = f"tenant {one.tenant_id!r}" if one.tenant_id else "all tenants"
            raise ConfigurationError(
                f"hook {one.name!r} would be number {most + 1} at {one.event_type} for {whose}; at most {most} are "
                "allowed"
            )


def statistics_of(entries: Sequence[RegisteredHook]) -> RegistryStatistics:
    """The statistics of these hooks."""
    figures = {one.hook_id: one.figures.statistics() for one in entries}
    return RegistryStatistics(
        len(entries),
        sum(one.definition is not None for one in entries),
        Counter(one.event_type for one in entries),
        tuple(sorted({one.event_type for one in entries if one.enabled})),
        sum(one.executions for one in figures.values()),
        sum(one.failures for one in figures.values()),
        sum(one.rejections for one in figures.values()),
        figures,
    )


class Entering:
    """Creates the entries of a registry.

    Args:
        allowed: The classes that definitions may refer to.
        concurrent: Events at which the hooks run at the same time.
    """

    def __init__(self, allowed: AllowList, concurrent: Iterable[str]) -> None:
        self._allowed = allowed
        self._concurrent = frozenset([concurrent] if isinstance(concurrent, str) else concurrent)
        for event in self._concurrent:
            if _split(event)[1] != "post":
                raise ConfigurationError(f"concurrent has {event!r}; only hooks after a call can run at the same time")

    def given(self, hook: Any, settings: dict[str, Any]) -> RegisteredHook:
        if isinstance(hook, Mapping):
            try:
                hook = HookDefinition.model_validate({**cast("Mapping[str, Any]", hook), **settings})
            except ValidationError as error:
                raise ConfigurationError(f"hook definition: {mistakes(error)}") from error
            settings = {}
        if isinstance(hook, HookDefinition):
            if settings:
                raise ConfigurationError(
                    f"{', '.join(settings)} cannot be given with a definition; set them in the definition"
                )
            return self.defined(hook, Figures(), "")
        return self._object(hook, settings)

    def defined(self, definition: HookDefinition, figures: Figures, source: str) -> RegisteredHook:
        marked = self._allowed.load(definition.handler_ref)
        handler: Any = marked.build(definition.config)
        if isinstance(handler, Hook):  # what it counts, it counts under its own name
            handler.name, handler.tenant_id = definition.name, definition.tenant_id
        return self._made(handler, definition, definition, figures, source)

    def loaded(self, definition: HookDefinition, figures: Figures, directory: str | Path) -> RegisteredHook:
        """Create the entry of a definition from a directory. Errors name the directory and the hook."""
        try:
            return self.defined(definition, figures, str(Path(directory).resolve()))
        except ConfigurationError as error:
            raise ConfigurationError(f"{directory}: hook {definition.hook_id!r}: {error}") from error

    def adopted(
        self, definitions: Iterable[HookDefinition], known: Mapping[str, RegisteredHook]
    ) -> tuple[dict[str, RegisteredHook], dict[str, str]]:
        """Create the entries of a control plane's definitions; those that cannot be used are left out.

        Args:
            definitions: The definitions.
            known: The entries of the former ones; what did not change keeps its handler and statistics.

        Returns:
            The entries, and why the others cannot be used, both by id.
        """
        entries, unusable = dict[str, RegisteredHook](), dict[str, str]()
        for definition in definitions:
            former = known.get(definition.hook_id)
            if former is not None and former.definition is not None and former.definition.is_like(definition):
                entries[definition.hook_id] = former
                continue
            try:
                entries[definition.hook_id] = self.defined(definition, former.figures if former else Figures(), "")
            except ConfigurationError as error:
                unusable[definition.hook_id] = str(error)
        return entries, unusable

    def _object(self, hook: Any, settings: dict[str, Any]) -> RegisteredHook:
        if isinstance(hook, type):
            raise ConfigurationError(f"{hook!r} is a class; register an object of it, such as {hook.__name__}()")
        if isinstance(hook, Hook):
            raise ConfigurationError(f"{hook!r} is a spanhook.Hook; add it to Hooks, or to registry.hooks")
        unknown = settings.keys() - _SETTINGS
        if unknown:
            raise ConfigurationError(f"unknown {', '.join(sorted(unknown))}; expected some of {', '.join(_SETTINGS)}")
        given = {name: getattr(hook, name) for name in _ATTRIBUTES if hasattr(hook, name)}
        fields = {"name": type(hook).__name__, **given, **settings}
        fields.setdefault("hook_id", f"hook_{uuid4().hex[:12]}")
        try:
            checked = HookDefinition.model_validate({**fields, "handler_ref": "objects:Registered"})
        except ValidationError as error:
            raise ConfigurationError(f"hook {fields['name']!r}: {mistakes(error)}") from error
        return self._made(hook, checked, None, Figures(), "")

    def _made(
        self, handler: Any, given: HookDefinition, definition: HookDefinition | None, figures: Figures, source: str
    ) -> RegisteredHook:
        if not isinstance(handler, Hook):
            check(handler, given.name)
        settings: HookSettings = {
            "name": given.name,
            "tenant_id": given.tenant_id,
            "mode": given.mode,
            "body": getattr(handler, "body", False) is True,
        }
        if "timeout_ms" in given.model_fields_set:  # otherwise the settings apply
            settings["timeout"] = given.timeout_ms / 1000
        for setting in ("priority", "fail_mode"):
            value = getattr(given, setting)
            if value is None and not isinstance(handler, Hook):  # a Hook's own settings apply by themselves
                value = getattr(handler, setting, None)
            if value is not None:
                settings[setting] = value
        if not isinstance(handler, Hook):
            settings.setdefault("priority", MIDDLEWARE_PRIORITY)
        listeners = (note, execution_log.note) if given.log_executions else (note,)
        functions = functions_of(
            handler,
            given.hook_id,
            given.event_type,
            settings,
            listeners,
            figures,
            concurrent=given.event_type in self._concurrent,
        )
        first = min((one for function in functions for one in bindings(function, "")), key=lambda one: one.priority)
        return RegisteredHook(
            given.hook_id,
            given.name,
            given.event_type,
            first.priority,
            first.fail_mode,
            given.tenant_id,
            given.enabled,
            handler,
            definition,
            tuple(functions),
            figures,
            source,
        )


def _split(event: Any) -> tuple[str, str]:
    try:
        return split_event(str(event))
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
