"""A library's own functions as they were before anybody wrapped them, for adapters that run its code themselves."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from spanhook.instrument._redirect import copy_of
from spanhook.instrument._wrapping import static


def original(cls: type, name: str) -> Callable[..., Any]:
    """The function that a class defines under a name, around all wrappers: calling it is no operation."""
    function = inspect.unwrap(static(cls, name))
    return copy_of(function) if type(function) is FunctionType else function
