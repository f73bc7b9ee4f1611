"""Definitions of hooks and their changes, as rows and back."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping

from spanhook.definitions import HookDefinition


@dataclass(frozen=True, slots=True)
class StoredHook:
    """A definition and how often it was changed.

    Attributes:
        definition: The definition.
        version: 1 when it was created; one more after each change.
    """

    definition: HookDefinition
    version: int


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a definition's history.

    Attributes:
        version: The version that the change made.
        action: What was done.
        actor: Who has done it.
        time_ns: When, in nanoseconds since the epoch.
        definition: The definition after it; before it if it was deleted.
    """

    version: int
    action: str
    actor: str
    time_ns: int
    definition: HookDefinition


def columns_of(hook: StoredHook, *, new: bool = True) -> dict[str, Any]:
    """The columns of a definition, apart from its id.

    Args:
        hook: The definition.
        new: Whether it is stored for the first time.
    """
    definition = hook.definition
    times = {"created_ns": time.time_ns()} if new else {}
    return {
        "tenant_id": definition.tenant_id,
        "name": definition.name,
        "event_type": definition.event_type,
        "enabled": definition.enabled,
        "version": hook.version,
        "definition": plain(definition),
        "updated_ns": time.time_ns(),
        **times,
    }


def plain(definition: HookDefinition) -> dict[str, Any]:
    """A definition as JSON, without the fields that nobody has set.

    The handler's own values, or settings of the process, apply to these.
    """
    kept = definition.model_dump(mode="json", include={"hook_id", "created_at", "updated_at"})
    unset = {name for name in ("priority", "fail_mode") if getattr(definition, name) is None}
    return {**definition.model_dump(mode="json", exclude_unset=True, exclude=unset), **kept}


def stored_hook(row: RowMapping) -> StoredHook:
    """The definition in a row."""
    return StoredHook(_definition(row["definition"]), row["version"])


def _definition(fields: Mapping[str, Any]) -> HookDefinition:
    return HookDefinition.model_validate(fields)


def change(row: RowMapping) -> Change:
    """The entry of a history in a row."""
    return Change(row["version"], row["action"], row["actor"], row["time_ns"], _definition(row["definition"]))
