"""What a stream can show: colours, box-drawing characters, its width; and text measured in columns."""

import shutil
import unicodedata
from dataclasses import dataclass
from typing import Any

from spanhook.model import is_coloured

MIN_WIDTH = 40
DEFAULT_WIDTH = 110
DEFAULT_HEIGHT = 50
"""Lines of a screen if there is none, such as for a log file; ``LINES`` overrides it."""

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How to draw text.

    Attributes:
        width: Columns to stay within.
        colour: Whether escape sequences may be used.
        unicode: Whether box-drawing characters may be used.
        height: Lines past which repeated operations are folded; 0 for never.
    """

    width: int = DEFAULT_WIDTH
    colour: bool = False
    unicode: bool = True
    height: int = 0

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    @property
    def separator(self) -> str:
        return " · " if self.unicode else " | "

    def paint(self, text: str, colour: str) -> str:
        """``text`` in a colour, if colours are on."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colour and colour and text else text

    def clip(self, text: str, columns: int) -> str:
        """``text`` cut to at most ``columns`` columns."""
        if width(text) <= columns:
            return text
        room, kept = columns - len(self.ellipsis), ""
        for character in text:
            room -= width(character)
            if room < 0:
                break
            kept += character
        return (kept.rstrip() + self.ellipsis) if columns > len(self.ellipsis) else kept[: max(columns, 0)]


def style_of(stream: Any) -> Style:
    """What ``stream`` can show. ``NO_COLOR`` and ``FORCE_COLOR`` are respected (https://no-color.org)."""
    columns, lines = shutil.get_terminal_size((DEFAULT_WIDTH, DEFAULT_HEIGHT))
    return Style(max(columns, MIN_WIDTH), is_coloured(stream), _has_boxes(stream), lines)


def _has_boxes(stream: Any) -> bool:
    try:
        "├╰│─…·≥".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 0 if unicodedata.category(character) in ("Mn", "Me", "Cf") else 1


def wrap(text: str, columns: int, lines: int, style: Style) -> list[str]:
    """``text`` wrapped at words into at most ``lines`` lines."""
    done: list[str] = []
    current = ""
    words = text.split(" ")
    for index, word in enumerate(words):
        longer = f"{current} {word}" if current else word
        if width(longer) <= columns or not current:
            current = longer
            continue
        if len(done) == lines - 1:
            current = " ".join((current, *words[index:]))
            break
        done.append(style.clip(current, columns))
        current = word
    return [*done, style.clip(current, columns)]
