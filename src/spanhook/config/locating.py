"""Finds configuration files that nobody names. It does not know what is in them."""

import json
import os
from collections.abc import Mapping
from typing import Any

from spanhook.config.aegra_file import INHERITED, default_file, named_file
from spanhook.config.reading import content_of, shown
from spanhook.errors import ConfigurationError

NAMES = ("spanhook.yaml", "spanhook.yml")
PROJECT = "pyproject.toml"


def locate(folder: str) -> str:
    """The absolute path of the configuration file in a folder; empty if there is none.

    This is ``spanhook.yaml``, ``spanhook.yml``, or ``pyproject.toml`` with a table ``[tool.spanhook]``.

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
    return os.path.abspath(found[0]) if found else ""


def locate_aegra(folder: str, environ: Mapping[str, str]) -> str:
    """The absolute path of Aegra's configuration file, if it names hooks; empty otherwise.

    In a process that another one has started, this is the file of that one, unless ``AEGRA_CONFIG`` names a file, or
    the one in the working directory has hooks.

    Args:
        folder: The working directory.
        environ: The environment.

    Raises:
        ConfigurationError: The file may name hooks, but cannot be read.
    """
    named = named_file(folder, environ)
    if named:
        return named if _has_hooks(named) else ""
    default = default_file(folder)
    return default if _has_hooks(default) else environ.get(INHERITED, "")


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
    try:
        data: Any = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        if b"hooks" not in content:
            return False
        raise ConfigurationError(f"{shown(path)} may name hooks, but is not valid JSON: {error}") from None
    return isinstance(data, dict) and "hooks" in data


def _content(path: str) -> bytes:
    return content_of(path) if os.path.isfile(path) else b""
