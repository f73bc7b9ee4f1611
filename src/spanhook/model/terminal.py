"""What a terminal, or another stream that people read, can be given: colours or not, and harmless text."""

import os
from typing import Any

_JOINERS = "\u200c\u200d"


def is_coloured(stream: Any) -> bool:
    """Whether a stream takes escape sequences. ``NO_COLOR`` and ``FORCE_COLOR`` are respected (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced != "0"
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # not a real file, or closed
        return False


def encodable_to(text: str, stream: Any) -> str:
    """``text`` with escapes for what the stream's encoding cannot represent."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return text.encode("ascii", "backslashreplace").decode("ascii")


def harmless(text: str) -> str:
    """``text`` on one line, without terminal control characters: it may contain a model's output."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, " ".join(text.split())))


def _shown(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode("ascii")
