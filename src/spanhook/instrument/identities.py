"""Ids of users, tenants and sessions in what applications give to a run: mappings, or objects of their own."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from spanhook.model import exact_text

IDS: Mapping[str, tuple[str, ...]] = {
    "session_id": ("session_id", "thread_id"),
    "user_id": ("user_id",),
    "tenant_id": ("tenant_id",),
}
"""Where each is looked for, in frameworks that have no names of their own for them."""


def ids_in(sources: Iterable[Any]) -> dict[str, str]:
    """The ids that the first of some sources has; empty for one that none has."""
    given = tuple(sources)
    return {name: first_id(given, *names) for name, names in IDS.items()}


def first_id(sources: Iterable[Any], *names: str) -> str:
    """The first id found, trying each of the names in each source in order."""
    for source in sources:
        for name in names:
            if found := as_id(field_of(source, name)):
                return found
    return ""


def field_of(source: Any, name: str) -> Any:
    """A field of a mapping or object, ``a.b`` for a nested one; ``None`` if it cannot be read."""
    name, _, inner = name.partition(".")
    given = source
    try:
        is_mapping = type(source) is dict or isinstance(source, Mapping)
        found = given.get(name) if is_mapping else getattr(given, name, None)
    except Exception:
        return None  # application code, which may raise anything
    return field_of(found, inner) if inner else found


def as_id(value: Any) -> str:
    """An id as a string; empty for any other value."""
    if value is None or type(value) is str:
        return value or ""
    if isinstance(value, str):
        return exact_text(value)
    return str(value) if isinstance(value, int | UUID) and not isinstance(value, bool) and value else ""
