"""TOML as plain data, with the line of every key. Imported only when a file is read.

The standard library's parser gives no line numbers. Those found here are for messages only: keys inside inline tables
and multi-line values have the line of the key around them.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, cast

from spanhook.errors import ConfigurationFileError, Mistake

TABLE = ("tool", "spanhook")
"""The table for spanhook in ``pyproject.toml``."""

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_IN_MESSAGE = re.compile(r"line (\d+)")


def parse(file: str, text: str, table: tuple[str, ...] = ()) -> tuple[Any, dict[tuple[str | int, ...], int]]:
    """The data of a table and the line of each of its keys; ``None`` if there is no such table.

    Args:
        file: Its name in messages.
        text: Its text.
        table: The keys of the table; by default the whole document.

    Raises:
        ConfigurationFileError: It is not valid TOML.
    """
    try:
        data: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _IN_MESSAGE.search(str(error))
        raise ConfigurationFileError(
            [Mistake(file, int(found[1]) if found else 0, "", f"is not valid TOML: {error}")]
        ) from None
    for key in table:
        data = cast("dict[str, Any]", data).get(key) if isinstance(data, dict) else None
    depth = len(table)
    return data, {keys[depth:]: line for keys, line in lines(text).items() if keys[:depth] == table}


def lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The first line of each table and key, from 1."""
    found: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.fullmatch(line)
        if header is not None:
            table = _within(header[2], counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                found.setdefault(table, number)
                table = (*table, counts[table])
        else:
            key = _KEY.match(line)
            if key is None:
                continue
            found.setdefault((*table, *_parts(key[1])), number)
        found.setdefault(table, number)
    return found


def _within(name: str, counts: dict[tuple[str | int, ...], int]) -> tuple[str | int, ...]:
    """The keys of a table; inside an array of tables, those of its last table."""
    keys: tuple[str | int, ...] = ()
    parts = list(_parts(name))
    for position, part in enumerate(parts):
        keys = (*keys, part)
        if keys in counts and position < len(parts) - 1:
            keys = (*keys, counts[keys])
    return keys


def _parts(name: str) -> Iterator[str]:
    for part in _PART.findall(name):
        yield part[1:-1] if part[0] in "\"'" else part
