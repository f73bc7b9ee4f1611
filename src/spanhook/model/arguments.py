"""The arguments of a call, as a library's function received them, and attributes."""

from collections.abc import Mapping
from typing import Any

Args = tuple[Any, ...]
Kwargs = Mapping[str, Any]
Attributes = dict[str, Any]


def first(args: Args, kwargs: Kwargs, name: str) -> Any:
    """The first argument, however it was passed."""
    return args[0] if args else kwargs[name]


def with_first(args: Args, kwargs: Kwargs, name: str, value: Any) -> tuple[Args, Kwargs]:
    """The arguments with the first one replaced."""
    return ((value, *args[1:]), kwargs) if args else (args, {**kwargs, name: value})
