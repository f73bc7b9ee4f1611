"""Patterns of the user's own, matched by RE2, whose time is linear in the length of the text, whatever the pattern."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spanhook.errors import ConfigurationError
from spanhook.hooks.pii_redaction._entities import Entity
from spanhook.hooks.pii_redaction._finders import Span

LONGEST = 512
"""The longest match with spaces in it that a stream is held back for."""
_MEMORY = 8 << 20


def check_pattern(pattern: str) -> str:
    """Check a pattern, and return it. Without RE2 any passes; ``own_entity`` then refuses it.

    Raises:
        ValueError: RE2 does not take it, or it matches the empty text.
    """
    if find_spec("re2") is not None:
        _compiled(pattern)
    return pattern


def own_entity(name: str, pattern: str) -> Entity:
    """What a pattern of the user's own stands for.

    Args:
        name: What the mask says.
        pattern: A regular expression in RE2's syntax; if it has groups, the first is what is redacted.

    Raises:
        ConfigurationError: RE2 is not installed, does not take the pattern, or the pattern matches the empty text.
    """
    if find_spec("re2") is None:
        raise ConfigurationError(f'patterns of your own ({name!r}) need RE2; pip install "spanhook[redaction]"')
    try:
        compiled = _compiled(pattern)
    except ValueError as error:
        raise ConfigurationError(f"{name}={pattern!r}: {error}") from None
    group = 1 if compiled.groups else 0

    def find(text: str) -> Iterator[Span]:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # RE2 takes no lone surrogates
        for found in compiled.finditer(text):
            start, end = found.span(group)
            if start < end:
                yield start, end

    return Entity(name, find, longest=LONGEST)


def _compiled(pattern: str) -> Any:
    re2: Any = import_module("re2")  # it has no types
    options: Any = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    try:
        compiled: Any = re2.compile(pattern, options)
    except re2.error as error:
        reason: Any = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"not a regular expression that RE2 takes: {text}") from None
    if compiled.search("") is not None:
        raise ValueError("it matches the empty text; it would match everywhere")
    return compiled
