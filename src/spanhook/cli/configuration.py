"""``spanhook config``: checks a configuration file, shows what would be active, and prints the schema."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple, cast

from spanhook.bootstrap import Wanted, read_environment
from spanhook.config import (
    END_MARK,
    ConfigurationFile,
    Document,
    check_functions,
    lacks_end_mark,
    load_file,
    locate,
    locate_aegra,
    read_document,
    read_file,
    schema,
    shown,
)
from spanhook.errors import ConfigurationError, ConfigurationFileError, Mistake
from spanhook.settings import CONTENT_VARIABLE, Settings

_DEFAULT = "default"
_FIRST = f"""\
# What may stand here is printed by: spanhook config schema
version: 1
mode: enforce                       # enforce, shadow or off, for all hooks
# hooks: {{path: ./hooks.py:hooks}}   # your own hooks
policies: []                        # ready-made hooks, in this order, such as:
#  - use: tool_policy
#    id: tools
#    with: {{rules: [{{deny: [delete_account], reason: Ask the support team}}]}}
{END_MARK}
"""


class Row(NamedTuple):
    """One thing that would be active, and where it comes from."""

    name: str
    value: Any
    origin: str


def print_schema() -> int:
    """Print the JSON Schema of configuration files.

    Returns:
        The exit code, 0.

    Raises:
        ConfigurationError: A package that configuration files need is not installed.
    """
    print(json.dumps(schema(), indent=2))  # noqa: T201
    return 0


def init(path: str) -> int:
    """Write a first configuration file.

    Args:
        path: The file, which must not be there.

    Returns:
        The exit code, 0.

    Raises:
        ConfigurationError: It is there, it is not called a YAML file, or it cannot be written.
    """
    if not path.endswith((".yaml", ".yml")):
        raise ConfigurationError(f"{path!r}: expected a name such as spanhook.yaml")
    try:
        with open(path, "x", encoding="utf-8") as opened:
            opened.write(_FIRST)
    except FileExistsError:
        raise ConfigurationError(
            f"{path} is there already; spanhook config check says whether it can be used"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: written")  # noqa: T201
    return 0


def check(path: str | None, as_json: bool) -> int:
    """Print every mistake in a configuration file, in the definitions that it names, and in names of functions.

    Notes go to standard error.

    Args:
        path: The file; if ``None``, the one in the working directory.
        as_json: Print one JSON document alone.

    Returns:
        The exit code: 0 if it can be used, 2 if not.
    """
    mistakes = list[Mistake]()
    try:
        path = path or locate(os.getcwd()) or locate_aegra(os.getcwd(), os.environ)
        if not path:
            raise ConfigurationError("there is no spanhook.yaml in the working directory; name a file")
        path = shown(path)
        document = read_document(path)
        mistakes += _misnamed(document)
        _check_definitions(load_file(path))
        if lacks_end_mark(document):
            _note(path, f"the end mark is missing; add the line {END_MARK}, so that a file cut short is noticed")
    except ConfigurationFileError as error:
        mistakes = sorted([*mistakes, *error.mistakes], key=lambda mistake: mistake.line)
    except ConfigurationError as error:
        mistakes = [Mistake(path or "", 0, "", str(error))]
    here = os.path.join(os.getcwd(), "")
    mistakes = [replace(one, message=one.message.replace(here, "")) for one in mistakes]
    if as_json:
        print(json.dumps({"file": path, "mistakes": [asdict(one) for one in mistakes]}, indent=2))  # noqa: T201
    else:
        for one in mistakes:
            print(one if one.line else one.message)  # noqa: T201
        if not mistakes:
            print(f"{path}: no mistakes")  # noqa: T201
    return 2 if mistakes else 0


def _note(path: str, note: str) -> None:
    print(f"{path}: note: {note}", file=sys.stderr)  # noqa: T201


def _misnamed(document: Document) -> list[Mistake]:
    """Mistakes in the names of functions of the application, as far as it is installed here."""
    mistakes, absent = check_functions(document, os.getcwd())
    if absent:
        names = ", ".join(absent)
        _note(document.shown, f"functions under bind were not checked, since their packages are not here: {names}")
    return mistakes


def _check_definitions(file: ConfigurationFile) -> None:
    """Read the definitions that a file names; their handlers are not imported.

    Raises:
        ConfigurationFileError: There is no such directory, or a definition has a mistake.
    """
    directory = file.given().get("definitions_dir")
    if directory is None:
        return
    from spanhook.definitions import load_definitions

    try:
        load_definitions(directory)
    except ConfigurationError as error:
        mistake = file.document.mistake(("settings", "definitions_dir"), str(error))
        raise ConfigurationFileError([mistake]) from None


def show(as_json: bool, **given: Any) -> int:
    """Print what ``spanhook run`` would use here, and where each part comes from.

    Args:
        as_json: Print one JSON document alone.
        given: Options as given to ``spanhook run``; the environment's where empty.

    Returns:
        The exit code, 0.

    Raises:
        ConfigurationError: It would not start.
    """
    asked = read_environment(os.environ, **given)
    wanted = asked.anchored()
    file = load_file(wanted.config) if wanted.config else None
    sections = {
        "file": list(_file(file, asked, wanted, given)),
        "settings": list(_settings(file, wanted)),
        "hooks": list(_hooks(file, wanted, given)),
        "stores": list(_stores(file)),
        "policies": list(_policies(file)),
    }
    if as_json:
        print(json.dumps({name: [row._asdict() for row in rows] for name, rows in sections.items()}, indent=2))  # noqa: T201
        return 0
    for name, rows in sections.items():
        print(name if rows else f"{name}  none")  # noqa: T201
        widths = [max((len(_text(row[at])) for row in rows), default=0) for at in (0, 1)]
        for row in rows:
            print(f"  {row.name:{widths[0]}}  {_text(row.value):{widths[1]}}  {row.origin}".rstrip())  # noqa: T201
    return 0


def _file(file: ConfigurationFile | None, asked: Wanted, wanted: Wanted, given: Mapping[str, Any]) -> Iterator[Row]:
    if file is not None:
        located = "Aegra's configuration" if wanted.config == wanted.aegra else "working directory"
        named = "--config" if given.get("config") else "SPANHOOK_CONFIG" if asked.config else located
        yield Row(file.shown, "", named)
    if wanted.aegra and wanted.aegra != wanted.config:
        yield Row(read_file(wanted.aegra).shown, "", "Aegra's configuration")


def _settings(file: ConfigurationFile | None, wanted: Wanted) -> Iterator[Row]:
    settings = wanted.settings if file is None else file.settings(wanted.over)
    from_file = {} if file is None else file.given()
    for field in fields(Settings):
        name, value = field.name, getattr(settings, field.name)
        origin = wanted.origins.get(name) or (file.origin(name) if file is not None and name in from_file else _DEFAULT)
        if name == "content":
            value = settings.captured()
            origin = CONTENT_VARIABLE if os.environ.get(CONTENT_VARIABLE, "").strip() else origin
        yield Row(name, sorted(cast("frozenset[str]", value)) if isinstance(value, frozenset) else value, origin)


def _hooks(file: ConfigurationFile | None, wanted: Wanted, given: Mapping[str, Any]) -> Iterator[Row]:
    for spec in wanted.hooks:
        yield Row(spec, "", "--hooks" if given.get("hooks") else "SPANHOOK_HOOKS")
    if file is not None and not wanted.hooks:
        for spec in file.hooks:
            yield Row(spec, "", file.origin("hooks"))
    if wanted.aegra and (wanted.aegra != wanted.config or wanted.hooks):
        aegra = read_file(wanted.aegra)
        for spec in aegra.hooks:
            yield Row(spec, "", aegra.origin("hooks"))


def _stores(file: ConfigurationFile | None) -> Iterator[Row]:
    for name, address in ({} if file is None else file.stores).items():
        assert file is not None
        yield Row(name, address, file.at(("stores", name)))


def _policies(file: ConfigurationFile | None) -> Iterator[Row]:
    for index, built in enumerate(() if file is None else file.policies):
        assert file is not None
        yield Row(built.policy.id, built.policy.use, file.at(("policies", index)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
