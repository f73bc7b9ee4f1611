"""Readings of a text: as it stands, folded to plain characters, and with its escapes undone.

Each reading knows where in the text its characters come from, so that what is found in it is replaced there.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

DEPTH = 3
"""How many layers of escapes are undone, such as JSON in a string of JSON."""

# Three layers of escapes have up to eight backslashes. A longer run is read in pairs, so that it takes linear time.
_ESCAPE = re.compile(
    r"\\{1,8}u[0-9a-fA-F]{4}|\\{1,8}x[0-9a-fA-F]{2}|\\{1,8}[bfnrt\"'/]|\\{2}"
    r"|(?:%[0-9a-fA-F]{2})+|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
)
_HINT = re.compile(r"[\\%&]")
_BARE = re.compile(r"[^\x00-\x7f]+")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Reading(NamedTuple):
    """A text as it is read.

    Attributes:
        text: What is read.
        starts, ends: Where in the original each character begins and ends; ``None`` if it is the original.
        escapes: Where in the original escape sequences are that this reading does not undo.
    """

    text: str
    starts: list[int] | None = None
    ends: list[int] | None = None
    escapes: tuple[tuple[int, int], ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original a part of the reading is; it never begins or ends inside a backslash escape."""
        if self.starts is not None and self.ends is not None:
            start, end = self.starts[start], self.ends[end - 1]
        around = self._escape_around(start)
        if around is not None:
            start = around[1]
        around = self._escape_around(end)
        if around is not None:
            end = around[0]
        return start, max(start, end)

    def _escape_around(self, index: int) -> tuple[int, int] | None:
        """The escape sequence that has this index inside of it."""
        at = bisect_left(self.escapes, (index,)) - 1
        if at < 0:
            return None
        begins, finishes = self.escapes[at]
        return (begins, finishes) if begins < index < finishes else None


def readings(text: str) -> Iterator[Reading]:
    """The readings of a text that may differ; for plain ASCII without escapes only the text itself."""
    plain = text.isascii()
    if plain and _HINT.search(text) is None:
        yield Reading(text)
        return
    reading = Reading(text) if plain else _folded(text)
    for _ in range(DEPTH + 1):
        tokens = list(_ESCAPE.finditer(reading.text)) if _HINT.search(reading.text) else []
        yield reading._replace(
            escapes=tuple(_inside(reading, token) for token in tokens if token[0].startswith("\\"))
        )  # fmt: skip
        if not tokens:
            return
        reading = _undone(reading, tokens)


def _inside(reading: Reading, token: re.Match[str]) -> tuple[int, int]:
    if reading.starts is None or reading.ends is None:
        return token.span()
    return reading.starts[token.start()], reading.ends[token.end() - 1]


def _folded(text: str) -> Reading:
    """Digits and letters of compatibility forms as ASCII where they have one, dashes and spaces as one, without what
    cannot be seen.
    """
    chars: list[str] = []
    starts: list[int] = []
    done = 0
    for run in _BARE.finditer(text):
        chars.append(text[done : run.start()])
        starts.extend(range(done, run.start()))
        for index in range(*run.span()):
            fold = _fold(text[index])
            chars.append(fold)
            starts.extend((index,) * len(fold))
        done = run.end()
    chars.append(text[done:])
    starts.extend(range(done, len(text)))
    return Reading("".join(chars), starts, [start + 1 for start in starts])


@lru_cache(maxsize=4096)
def _fold(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Cf" or char in _UNSEEN or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return ""
    if category == "Nd":
        return str(unicodedata.digit(char))
    if category == "Pd" or char in "\u2212\u2043":
        return "-"
    if category == "Zs":
        return " "
    return unicodedata.normalize("NFKC", char)


def _undone(reading: Reading, tokens: list[re.Match[str]]) -> Reading:
    """The reading with one layer of escapes undone."""
    text = reading.text
    from_ = reading.starts if reading.starts is not None else range(len(text))
    to = reading.ends if reading.ends is not None else range(1, len(text) + 1)
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for token in tokens:
        begins, finishes = token.span()
        chars.append(text[done:begins])
        starts.extend(from_[done:begins])
        ends.extend(to[done:begins])
        said = "".join(_fold(char) if char > "\x7f" else char for char in _meaning(token[0]))
        chars.append(said)
        starts.extend((from_[begins],) * len(said))
        ends.extend((to[finishes - 1],) * len(said))
        done = finishes
    chars.append(text[done:])
    starts.extend(from_[done:])
    ends.extend(to[done:])
    return Reading("".join(chars), starts, ends)


def _meaning(token: str) -> str:
    if token[0] == "%":
        return bytes.fromhex(token.replace("%", "")).decode("utf-8", "replace")
    if token[0] == "&":
        return html.unescape(token)
    said = token.lstrip("\\")
    if not said:
        return "\\"
    if said[0] in "ux" and len(said) > 1:
        return chr(int(said[1:], 16))
    return _CONTROL.get(said, said)
