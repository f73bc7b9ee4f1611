"""Reading a configuration file into plain data, with the line of every key. It does not know what the keys mean."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast

from spanhook.config.aegra_file import is_aegra_file
from spanhook.errors import ConfigurationError, ConfigurationFileError, Mistake
from spanhook.gating import is_path

EXTRA = 'pip install "spanhook[policies]"'
LARGEST = 1_000_000
"""Bytes of a configuration file."""

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a configuration file.

    Attributes:
        path: The absolute path of the file.
        data: Its keys and values.
        lines: The line number of each key.
        content: The bytes of the file.
    """

    path: str
    data: Mapping[str, Any]
    lines: Mapping[Keys, int]
    content: bytes

    @property
    def shown(self) -> str:
        """The path for messages."""
        return shown(self.path)

    @property
    def is_json(self) -> bool:
        """Whether it is read as JSON."""
        return _is_json(self.path)

    @property
    def is_yaml(self) -> bool:
        """Whether it is read as YAML, as every file is that is not called something else."""
        return not self.is_json and not self.path.endswith(".toml")

    @property
    def digest(self) -> str:
        """Identifies the content in messages."""
        return hashlib.sha256(self.content).hexdigest()[:12]

    @property
    def folder(self) -> str:
        """The folder of the file, at which relative paths in it start."""
        return os.path.dirname(self.path)

    def line(self, keys: Keys) -> int:
        """The line number of a key, or of the nearest key around it if it is missing; 0 if there is none."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 0)

    def spec(self, spec: str) -> str:
        """A spec of hooks, with an absolute path."""
        target, separator, name = spec.rpartition(":")
        if not separator or not is_path(target):
            return spec
        return f"{self.absolute(target)}:{name}"

    def absolute(self, path: str) -> str:
        """A path in the file, absolute."""
        return os.path.normpath(os.path.join(self.folder, os.path.expanduser(path)))

    def mistake(self, keys: Keys, message: str) -> Mistake:
        """A mistake at a key."""
        return Mistake(shown(self.path), self.line(keys), written(keys), message)


def shown(path: str) -> str:
    """A path for messages: relative if it is below the working directory."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return path if relative.startswith(os.pardir) else relative


def written(keys: Keys) -> str:
    """Keys in the usual notation, such as ``policies[0].with``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.removeprefix(".")


def check_extra() -> None:
    """Check that the packages for configuration files are installed.

    Raises:
        ConfigurationError: One is not.
    """
    for module in ("pydantic", "yaml"):
        if find_spec(module) is None:
            raise ConfigurationError(f"configuration files need {module}, which is not installed; {EXTRA}")


def content_of(path: str) -> bytes:
    """The bytes of a file.

    Raises:
        ConfigurationError: The file is missing, cannot be read, or is too large.
    """
    if os.path.isdir(path):
        raise ConfigurationError(f"configuration {path!r} is a folder; name a file in it, such as {path}/spanhook.yaml")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ConfigurationError(f"configuration {path!r} is not a regular file, which can be read again; name one")
    try:
        with open(path, "rb", opener=_open_at_once) as opened:
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        raise ConfigurationError(f"the configuration file {shown(path)!r} does not exist; correct the path") from None
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"the configuration file {shown(path)!r} cannot be read: {error}") from None
    if len(content) > LARGEST:
        raise ConfigurationError(
            f"the configuration file {shown(path)!r} has more than {LARGEST} bytes; make it smaller"
        )
    return content


def _open_at_once(path: str, flags: int) -> int:
    """Open a file. A pipe that has taken its place since it was looked at does not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read(path: str, such_as: str = "version: 1 and policies", *, may_be_empty: bool = False) -> Document:
    """Read a file: TOML or JSON by its suffix, otherwise YAML.

    Of ``pyproject.toml``, only the table ``tool.spanhook`` is read; of Aegra's file, which is JSON, only ``hooks``.

    Args:
        path: The file.
        such_as: Keys that it may have, for messages.
        may_be_empty: Whether it may have none.

    Raises:
        ConfigurationError: The file is missing or cannot be read, or a package is not installed.
        ConfigurationFileError: The file is not valid TOML, JSON or YAML.
    """
    check_extra()
    path = os.path.abspath(os.path.expanduser(path))
    content = content_of(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigurationFileError([Mistake(shown(path), line, "", "is not UTF-8; save the file as UTF-8")]) from None
    if _is_json(path):
        data, lines = _json(path, text)
    elif path.endswith(".toml"):
        data, lines = _toml(path, text)
    else:
        from spanhook.config import yaml_nodes

        data, lines = yaml_nodes.parse(shown(path), text)
    if data is None and may_be_empty:
        data = dict[str, Any]()
    elif not data or not isinstance(data, dict):
        said = "is empty" if data is None or data == {} else f"is a {type(cast('object', data)).__name__}"
        message = f"{said}; expected keys such as {such_as}"
        raise ConfigurationFileError([Mistake(shown(path), 1, "", message)])
    return Document(path, cast("dict[str, Any]", data), lines, content)


def _is_json(path: str) -> bool:
    return path.endswith(".json") or is_aegra_file(path)


def _toml(path: str, text: str) -> tuple[Any, Mapping[Keys, int]]:
    from spanhook.config import toml_tables

    if os.path.basename(path) != "pyproject.toml":
        return toml_tables.parse(shown(path), text)
    data, lines = toml_tables.parse(shown(path), text, toml_tables.TABLE)
    if data is None:
        raise ConfigurationError(f"{shown(path)} has no table [tool.spanhook]; add it, or name another file")
    return data, lines


def _json(path: str, text: str) -> tuple[Any, Mapping[Keys, int]]:
    from spanhook.config import yaml_nodes

    try:
        data: Any = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ConfigurationFileError(
            [Mistake(shown(path), error.lineno, "", f"is not valid JSON: {error.msg}")]
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationFileError([Mistake(shown(path), 0, "", f"is not valid JSON: {error}")]) from None
    if is_aegra_file(path):
        given = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        data = {key: value for key, value in given.items() if key == "hooks"}
        if not data:
            raise ConfigurationError(f'{shown(path)} has no "hooks"; add "hooks": {{"path": "./hooks.py:hooks"}}')
    return data, yaml_nodes.lines_of_json(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} appears twice")
        found[key] = value
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number")
