"""The functions of an adapter and of its parts, by dotted names."""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from spanhook.model import Adapter


def extractors(adapter: Adapter) -> dict[str, Callable[..., Any]]:
    """Every function that reads calls, such as ``start`` or ``streaming.chunks``."""
    return dict(_functions(adapter, ""))


def _functions(part: Any, before: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for field in fields(part):
        value = getattr(part, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _functions(value, f"{before}{field.name}.")
        elif callable(value):
            yield before + field.name, value


def with_extractor(adapter: Adapter, name: str, function: Callable[..., Any]) -> Adapter:
    """The adapter with another function of that name."""
    return _with(adapter, name, function)


def _with(part: Any, name: str, function: Callable[..., Any]) -> Any:
    first, _, rest = name.partition(".")
    return replace(part, **{first: _with(getattr(part, first), rest, function) if rest else function})
