"""Readings of a text: as it stands, folded to plain characters, and with its escapes undone.

Each reading knows where in the text its characters come from, so that what is found in it is replaced there.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from spanhook.hooks._folding import ODD, fold, fold_character

DEPTH = 3
"""How many layers of escapes are undone, such as JSON in a string of JSON."""

# Three layers of escapes have up to eight backslashes. A longer run is read in pairs, so that it takes linear time.
_ESCAPE = re.compile(
    r"\\{1,8}u[0-9a-fA-F]{4}|\\{1,8}x[0-9a-fA-F]{2}|\\{1,8}[bfnrt\"'/]|\\{2}"
    r"|(?:%[0-9a-fA-F]{2})+|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});"
)
_HINT = re.compile(r"[\\%&]")
_ANY_HINT = re.compile(rf"{_HINT.pattern}|{ODD.pattern}")
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
    if _ANY_HINT.search(text) is None:
        yield Reading(text)
        return
    reading = Reading(text) if ODD.search(text) is None else _folded(text)
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
    """The text with its characters folded."""
    chars: list[str] = []
    starts: list[int] = []
    done = 0
    for run in ODD.finditer(text):
        chars.append(text[done : run.start()])
        starts.extend(range(done, run.start()))
        for index in range(*run.span()):
            folded = fold_character(text[index])
            chars.append(folded)
            starts.extend((index,) * len(folded))
        done = run.end()
    chars.append(text[done:])
    starts.extend(range(done, len(text)))
    return Reading("".join(chars), starts, [start + 1 for start in starts])


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
        said = _meaning(token[0])
        chars.append(said)
        starts.extend((from_[begins],) * len(said))
        ends.extend((to[finishes - 1],) * len(said))
        done = finishes
    chars.append(text[done:])
    starts.extend(from_[done:])
    ends.extend(to[done:])
    return Reading("".join(chars), starts, ends)


def _meaning(token: str) -> str:
    """What an escape sequence stands for, folded; but a backspace and a form feed, which a path may seem to have."""
    if token[0] == "%":
        return fold(bytes.fromhex(token.replace("%", "")).decode("utf-8", "replace"))
    if token[0] == "&":
        return fold(html.unescape(token))
    said = token.lstrip("\\")
    if not said:
        return "\\"
    if said[0] in "ux" and len(said) > 1:
        return fold(chr(int(said[1:], 16)))
    return _CONTROL.get(said, said)
