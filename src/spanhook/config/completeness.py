"""Whether a configuration file is whole, or was cut short while it was written. It does not know what the keys mean.

A cut file may still be valid: without its last policies, YAML is YAML. JSON ends with a bracket, so it is always whole.
"""

import re
from collections.abc import Iterator
from typing import Any

from spanhook.config.reading import Document
from spanhook.diagnostics import log
from spanhook.errors import ConfigurationError
from spanhook.version import __version__

END_MARK = "..."
"""YAML's own mark for the end of a document, in a line of its own."""

STRICT_FROM = (0, 2)
"""The first version in which ``strict`` refuses a YAML file without the end mark."""

_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_MARKED = re.compile(r"\.\.\.([ \t]+(#.*)?)?")
_EMPTY: tuple[Any, ...] = (None, "", [], {})
_WRITTEN = {"policies": "[]", "cron": "[]", "settings": "{}", "stores": "{}", "mode": "enforce", "version": "1"}
"""What to write for a key that is to have no effect; ``null`` for all others."""


class IncompleteFileError(ConfigurationError):
    """A configuration file may have been cut short; the message says what to write if it was not."""


def has_end_mark(document: Document) -> bool:
    """Whether the end mark is the last line of a YAML file; comments and empty lines may follow it."""
    for line in reversed(_BREAKS.split(_text(document))):
        if line.strip() and not line.lstrip().startswith("#"):
            return _MARKED.fullmatch(line) is not None
    return False


def lacks_end_mark(document: Document) -> bool:
    """Whether it is a YAML file without the end mark."""
    return document.is_yaml and not has_end_mark(document)


def check_marked(document: Document) -> None:
    """Ask for the end mark, for ``strict``.

    Raises:
        ConfigurationError: It is missing, from version ``STRICT_FROM`` on.
    """
    if not lacks_end_mark(document):
        return
    message = f"{document.shown} has no end mark, without which a lost end is not noticed: add the line {END_MARK}"
    version = tuple(int(part) for part in __version__.split(".")[:2])
    if version >= STRICT_FROM:
        raise ConfigurationError(message)
    log.warning("spanhook: %s; from version %s on, strict refuses it", message, ".".join(map(str, STRICT_FROM)))


def check_complete(now: Document, active: Document) -> None:
    """Check that a changed file is whole.

    Args:
        now: The changed file.
        active: The file as it is active.

    Raises:
        IncompleteFileError: It may have been cut short.
    """
    if now.is_json or (now.is_yaml and has_end_mark(now)):
        return
    for why, instead in _signs(now, active):
        raise IncompleteFileError(f"{now.shown} may have been cut short: it {why}. If it is whole, {instead}")


def _signs(now: Document, active: Document) -> Iterator[tuple[str, str]]:
    """The signs that a file was cut short, each with what to write if it was not."""
    text, before = _text(now), _text(active)
    mark = f"end it with the line {END_MARK}" if now.is_yaml else ""
    if now.is_yaml and has_end_mark(active):
        yield f"does not end with {END_MARK}, as the active one does", mark
    if before.rstrip().startswith(text.rstrip()) and text.rstrip() != before.rstrip():
        yield "is the beginning of the active one", mark or "add a comment at its end"
    if _BREAKS.search(before[-1:]) and not _BREAKS.search(text[-1:]):
        yield "lacks the line break at its end, which the active one has", mark or "end it with a line break"
    gone = [key for key, value in active.data.items() if value not in _EMPTY and key not in now.data]
    if gone:
        instead = ", ".join(f"{key}: {_WRITTEN.get(key, 'null')}" for key in gone)
        keys = f"no longer has {', '.join(gone)}"
        yield keys, f"write {instead}, or {mark}" if mark else _in_toml(gone)


def _in_toml(gone: list[str]) -> str:
    """What to write in TOML, which knows no null."""
    known = [f"{key} = {_value(key)}" for key in gone if key in _WRITTEN]
    return f"write {', '.join(known)}" if len(known) == len(gone) else "start the application again"


def _value(key: str) -> str:
    return f'"{_WRITTEN[key]}"' if key == "mode" else _WRITTEN[key]


def _text(document: Document) -> str:
    """The text of a file that was read, without what editors may change everywhere: BOM, and line breaks of Windows."""
    return document.content.decode("utf-8-sig").replace("\r\n", "\n")
