"""Loading run hooks by name, from code and from configuration files."""

import importlib
import json
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from spanhook.errors import ConfigurationError
from spanhook.gating import UNSET, hooks_of, is_path, module_at, time_limit
from spanhook.runs.hooks import RunHooks

_KEYS = ("path", "timeout")


def load_hooks(spec: str, base_dir: str | os.PathLike[str] | None = None) -> RunHooks:
    """Load the ``RunHooks`` that ``spec`` names.

    A file is loaded once per process, stays in ``sys.modules``, and has its own folder importable. Exceptions of
    the module itself are not caught.

    Args:
        spec: ``./hooks.py:hooks``, ``/srv/agents/hooks.py:hooks`` or ``package.module:hooks``.
        base_dir: The folder that relative paths start from; the working directory unless given.

    Raises:
        ValueError: ``spec`` has no name after a colon.
        FileNotFoundError: There is no such file.
        ImportError: There is no such module.
        AttributeError: The module has no such name.
        TypeError: The object is not a ``RunHooks``.
    """
    target, _, name = spec.rpartition(":") if isinstance(spec, str) else ("", "", "")  # pyright: ignore[reportUnnecessaryIsInstance]
    if not target or not name:
        raise ValueError(f"hooks {spec!r}: expected ./file.py:name or package.module:name, such as ./hooks.py:hooks")
    module = _module(spec, target, base_dir)
    if not hasattr(module, name):
        raise AttributeError(f"hooks {spec!r}: {target} has no {name!r}; {_found(module)}")
    found = getattr(module, name)
    if not isinstance(found, RunHooks):
        hint = "; give it to spanhook.instrument() instead" if hooks_of(found) is not None else f"; {_found(module)}"
        raise TypeError(f"hooks {spec!r}: {name} is of type {type(found).__name__}, expected a RunHooks{hint}")
    return found


def _module(spec: str, target: str, base_dir: str | os.PathLike[str] | None) -> ModuleType:
    if not is_path(target):
        return importlib.import_module(target)
    path = Path(base_dir or ".", Path(target).expanduser()).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"hooks {spec!r}: the file {path} does not exist; correct the path")
    return module_at(str(path))


def _found(module: ModuleType) -> str:
    found = [name for name, value in vars(module).items() if isinstance(value, RunHooks)]
    return f"it has {', '.join(found)}" if found else "write `hooks = spanhook.runs.RunHooks()` in it"


def from_mapping(given: Mapping[str, Any], base_dir: str | os.PathLike[str] | None = None) -> RunHooks:
    """Load the ``RunHooks`` that the section ``hooks`` of a configuration file names.

    Args:
        given: ``path``, as ``load_hooks`` takes it, and perhaps ``timeout``: seconds that each hook may take; unless
            given, their timeout stays as it is.
        base_dir: The folder that relative paths start from: that of the configuration file.

    Raises:
        ConfigurationError: The section is invalid, or the hooks cannot be loaded.
    """
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"hooks={given!r}, expected a mapping such as {{path: ./hooks.py:hooks, timeout: 10}}")
    for key in given:
        if key not in _KEYS:
            close = get_close_matches(str(key), _KEYS, 1)
            meant = f"; did you mean {close[0]!r}?" if close else f"; expected {' and '.join(_KEYS)}"
            raise ConfigurationError(f"hooks: unknown key {key!r}{meant}")
    path, timeout = given.get("path"), given.get("timeout", UNSET)
    if not isinstance(path, str):
        raise ConfigurationError(f"hooks: path={path!r}, expected ./file.py:name or package.module:name")
    if timeout is not UNSET:
        time_limit("hooks", timeout)
    try:
        hooks = load_hooks(path, base_dir)
    except ConfigurationError:
        raise
    except Exception as error:
        said = str(error) if str(error).startswith("hooks ") else f"hooks {path!r}: {type(error).__name__}: {error}"
        raise ConfigurationError(" ".join(said.split())) from error
    if timeout is not UNSET:
        hooks.timeout = timeout
    return hooks


def from_aegra(file: str | os.PathLike[str] = "aegra.json") -> RunHooks | None:
    """Load the ``RunHooks`` that an ``aegra.json`` names under ``hooks``; ``None`` if it names none.

    Raises:
        ConfigurationError: The file cannot be read, its section ``hooks`` is invalid, or the hooks cannot be loaded.
    """
    path = Path(file).resolve()
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(read, dict):
        raise ConfigurationError(f"{path}: expected a JSON object")
    given = cast("dict[str, Any]", read).get("hooks")
    if given is None:
        return None
    try:
        return from_mapping(given, path.parent)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
