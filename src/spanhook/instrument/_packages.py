"""Whose module it is, where several packages use the same name for theirs."""

import os
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def has_mark(spec: ModuleSpec | None, marks: tuple[str, ...]) -> bool:
    """Whether the package that a module is in has one of these files or folders; without marks, any has."""
    if not marks:
        return True
    if spec is None:
        return False
    folders, depth = list(spec.submodule_search_locations or ()), spec.name.count(".")
    if not folders and depth and spec.origin:
        folders, depth = [os.path.dirname(spec.origin)], depth - 1
    up = os.path.join(*[os.pardir] * depth) if depth else ""
    return any(os.path.exists(os.path.join(folder, up, mark)) for folder in folders for mark in marks)


def spec_of(module: Any) -> ModuleSpec | None:
    """The spec of a module, without triggering the load of a lazy module."""
    try:
        return ModuleType.__getattribute__(module, "__spec__")
    except (AttributeError, TypeError):
        return None
