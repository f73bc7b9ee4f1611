"""The lines of keys in TOML, which the parser of the standard library does not tell.

Good for messages alone: what stands in several lines, or inside of inline tables, has the line of what is around it.
"""

import re
from collections.abc import Iterator

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_IN_MESSAGE = re.compile(r"line (\d+)")


def in_message(message: str) -> int:
    """The line that the parser's message names; 0 if it names none."""
    found = _IN_MESSAGE.search(message)
    return int(found[1]) if found else 0


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
    """The keys of a table, through the last one of every array of tables that it stands in."""
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
