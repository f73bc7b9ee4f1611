"""Text as a reader takes it: without what has no width, digits and letters of other forms as plain ones.

Hooks that search texts read them so, for models do: a number with marks between its digits is the same number to them.
"""

import re
import unicodedata
from functools import lru_cache

_IGNORABLE = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *(*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(*range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B)),
    *range(0xE0000, 0xE1000),
)
"""``Default_Ignorable_Code_Point`` of Unicode 17 (DerivedCoreProperties.txt); Python's data does not have it."""
_BLANK = frozenset((*map(chr, _IGNORABLE), "\u2800"))
"""Without ink: also the empty pattern of Braille."""
_WITHOUT_WIDTH = frozenset(("Cf", "Mn", "Me"))
_LETTER = re.compile(r".* LETTER ([A-Z])\Z")
ODD = re.compile(r"[^\t-\r\x1c-\x7e]+")
"""Characters that may be folded: all but ASCII's that can be seen, its spaces and its line breaks."""


def fold(text: str) -> str:
    """A text with each character folded: its place in the text is lost."""
    return ODD.sub(lambda run: "".join(map(fold_character, run[0])), text)


@lru_cache(maxsize=4096)
def fold_character(char: str) -> str:
    """What a reader takes a character for; empty if it cannot be seen or only marks the one before it."""
    category = unicodedata.category(char)
    if category in _WITHOUT_WIDTH or char in _BLANK:
        return ""
    if category == "Cc":
        return "\n" if char in "\n\x85" else char if char.isspace() else ""
    if category[0] == "N" and (number := _number(char)):
        return number
    if category == "Pd" or char in "\u2212\u2043":
        return "-"
    if category[0] == "Z":
        return " " if category == "Zs" else "\n"
    forms = unicodedata.normalize("NFKC", char)
    if forms == char and category == "So" and (letter := _LETTER.match(unicodedata.name(char, ""))):
        return letter[1]  # in a circle or square
    return "".join(form for form in forms if unicodedata.category(form) not in _WITHOUT_WIDTH)


def _number(char: str) -> str:
    """The number that a character stands for, such as a digit in a circle; empty if its own form says it better."""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    value = unicodedata.numeric(char, -1.0)
    symbol = unicodedata.category(char) == "No" and unicodedata.normalize("NFKC", char) == char
    return str(int(value)) if symbol and value >= 0 and value.is_integer() else ""
