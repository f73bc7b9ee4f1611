"""Finds the configuration file if none is named. It does not know what is in the file."""

import json
import os
from typing import Any

from spanhook.config.reading import FOREIGN, content_of, shown
from spanhook.errors import ConfigurationError

NAMES = ("spanhook.yaml", "spanhook.yml")
PROJECT = "pyproject.toml"


def locate(folder: str) -> str:
    """The absolute path of the configuration file in a folder; empty if there is none.

    This is ``spanhook.yaml``, ``spanhook.yml``, or ``pyproject.toml`` with a table ``[tool.spanhook]``; otherwise an
    ``aegra.json`` with ``hooks``.

    Raises:
        ConfigurationError: There are several, or one cannot be read.
    """
    found = [path for name in NAMES if os.path.exists(path := os.path.join(folder, name))]
    project = os.path.join(folder, PROJECT)
    if _has_table(project):
        found.append(project)
    if len(found) > 1:
        named = " and ".join(map(shown, found))
        raise ConfigurationError(f"{named} are both configuration files; keep one, or choose one with --config")
    foreign = os.path.join(folder, FOREIGN)
    if not found and _has_hooks(foreign):
        found.append(foreign)
    return os.path.abspath(found[0]) if found else ""


def _has_table(path: str) -> bool:
    content = _content(path)
    if b"spanhook" not in content:
        return False
    from spanhook.config import toml_tables

    try:
        return toml_tables.parse(shown(path), content.decode(errors="replace"), toml_tables.TABLE)[0] is not None
    except ConfigurationError:
        if b"tool.spanhook" in content:
            raise
        return False


def _has_hooks(path: str) -> bool:
    content = _content(path)
    if b'"hooks"' not in content:
        return False
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{shown(path)} may name hooks, but is not valid JSON: {error}") from None
    return isinstance(data, dict) and "hooks" in data


def _content(path: str) -> bytes:
    return content_of(path) if os.path.isfile(path) else b""
