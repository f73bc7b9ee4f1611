"""Reads definitions from a directory of YAML files, each with one definition or a list of them."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from spanhook.definitions.definition import HookDefinition
from spanhook.errors import ConfigurationError

LARGEST = 1_000_000
"""Bytes of a file."""


def load_definitions(directory: str | Path) -> list[HookDefinition]:
    """The definitions in the files ``*.yaml`` and ``*.yml`` of a directory, in the order of the files' names.

    A definition without a ``hook_id`` gets one made from its file's name, its position and its own name.

    Args:
        directory: The directory; its subdirectories are not read.

    Raises:
        ConfigurationError: There is no such directory, a file cannot be read, or a definition cannot be used; one line
            names the file and the key.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise ConfigurationError(f"hook definitions: the directory {str(directory)!r} does not exist; correct the path")
    found: list[HookDefinition] = []
    places: dict[str, str] = {}
    for path in sorted(one for one in folder.iterdir() if one.suffix in (".yaml", ".yml")):
        for place, given in _given(path):
            definition = _definition(path, place, given)
            if definition.hook_id in places:
                raise ConfigurationError(
                    f"{place}: hook_id {definition.hook_id!r} is taken by {places[definition.hook_id]}; "
                    "give each definition its own"
                )
            places[definition.hook_id] = place
            found.append(definition)
    return found


def _given(path: Path) -> Iterator[tuple[str, Any]]:
    """The definitions in a file, each with its place for messages."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{path} is larger than {LARGEST} bytes; split it")
        documents: list[Any] = [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        said = ", ".join(filter(None, (error.context, error.problem)))
        raise ConfigurationError(f"{path}{line}: is not valid YAML: {said}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigurationError(" ".join(f"{path}: is not valid YAML: {error}".split())) from error
    several: list[Any] = []
    for one in documents:
        several += cast("list[Any]", one) if isinstance(one, list) else [one]
    for index, one in enumerate(several):
        yield (f"{path}, definition {index + 1}" if len(several) > 1 else str(path)), one


def _definition(path: Path, place: str, given: Any) -> HookDefinition:
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{place}: expected a definition, a mapping with name, event_type and handler_ref")
    fields = dict(cast("Mapping[Any, Any]", given))
    if not fields.keys() & {"hook_id", "id"}:
        known = f"{path.name}:{place.rpartition(' ')[2]}:{fields.get('name')}"
        fields["hook_id"] = f"hook_{hashlib.sha256(known.encode()).hexdigest()[:12]}"
    try:
        return HookDefinition.model_validate(fields)
    except ValidationError as error:
        raise ConfigurationError(f"{place}: {mistakes(error)}") from error


def mistakes(error: ValidationError) -> str:
    """Pydantic's errors in one line, each with its key."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {str(one['msg']).removeprefix('Value error, ')}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )
