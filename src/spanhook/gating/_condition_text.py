"""Finds out from the text of a CEL condition what it reads, and how much work it can be.

The CEL package does not expose its syntax tree, so the text is split into words here. It has been parsed before, so it
is valid CEL.
"""

import re
from ast import literal_eval
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile

MACROS = frozenset(("all", "exists", "exists_one", "existsOne", "filter"))
"""Macros that a condition may use. ``map`` is not allowed: chained, it can create data without limit."""

FUNCTIONS = frozenset(
    (
        *("size", "contains", "startsWith", "endsWith", "matches", "type", "dyn"),
        *("int", "uint", "double", "string", "bytes", "timestamp", "duration"),
        *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
        *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
    )
)
"""Functions that a condition may use: those of the CEL specification that the package has."""

TYPES = frozenset(("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"))
"""Names of types, for ``type(arguments.x) == string``."""

_WORD = re.compile(
    r"""(?P<comment>//[^\n]*)
    |(?P<string>(?:[rR][bB]?|[bB][rR])(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[A-Za-z0-9_]*)
    |(?P<sign>[=!<>]=|&&|\|\||[^\s])""",
    re.VERBOSE | re.DOTALL,
)


_COMPARES = ("==", "!=")


@dataclass(slots=True)
class Reading:
    """What a condition reads and does.

    Attributes:
        keys: The keys that it reads, by root; ``None`` if it may be any.
        macros: How many macros there are.
        levels: How many of them are inside each other.
        additions: How often it adds, which is how often data may be repeated.
        items: Names that its macros give to items.
        patterns: The literals that it passes to ``matches``, as written.
        named: The names that it compares ``name`` with.
        mistakes: What is not allowed in a condition, in words.
    """

    keys: dict[str, set[str] | None] = field(default_factory=dict[str, set[str] | None])
    macros: int = 0
    levels: int = 0
    additions: int = 0
    items: set[str] = field(default_factory=set[str])
    patterns: list[str] = field(default_factory=list[str])
    named: set[str] = field(default_factory=set[str])
    mistakes: list[str] = field(default_factory=list[str])


def read(text: str, roots: frozenset[str]) -> Reading:
    """What a parsed condition reads from these roots, and does."""
    found = Reading()
    words = [(match.lastgroup or "", match.group()) for match in split_words(text)]
    open_macros: list[bool] = []
    for index, (sort, word) in enumerate(words):
        selected = index > 0 and words[index - 1][1] == "."
        if sort == "name":
            following = [one for _, one in words[index + 1 : index + 4]]
            if following[:1] == ["("]:
                _call(word, words[index + 2 : index + 4], found, roots, selected=selected)
                if word == "matches" and any(open_macros):
                    found.mistakes.append(
                        "'matches' cannot be inside of a macro; use contains, startsWith or endsWith there"
                    )
            elif word in roots and not selected:
                _root(word, words[index + 1 : index + 4], found)
                if word == "name":
                    found.named.update(_compared(words, index))
        elif sort == "sign":
            if word == "(":
                macro = index > 1 and words[index - 1][1] in MACROS and words[index - 2][1] == "."
                open_macros.append(macro)
                found.macros += macro
                found.levels = max(found.levels, sum(open_macros))
            elif word == ")" and open_macros:
                open_macros.pop()
            elif word == "+":
                found.additions += 1
    return found


def split_words(text: str) -> Iterator[re.Match[str]]:
    """The words of a condition without its comments. The group that matched is the sort of word."""
    return (match for match in _WORD.finditer(text) if match.lastgroup != "comment")


def _call(name: str, inside: list[tuple[str, str]], found: Reading, roots: frozenset[str], *, selected: bool) -> None:
    if selected and name == "map":
        found.mistakes.append("'map' is not available; use exists, all or filter")
    if selected and name in MACROS and inside:
        item = inside[0][1]
        found.items.add(item)
        if item in roots:
            found.mistakes.append(f"{item!r} cannot name an item in {name}(...); choose another name")
    if name != "matches":
        return
    if selected and [sort for sort, _ in inside[:1]] == ["string"] and inside[1][1] == ")":
        found.patterns.append(inside[0][1])
    else:
        found.mistakes.append("the pattern of 'matches' must be a literal, such as text.matches('^[a-z]+$')")


def _compared(words: list[tuple[str, str]], index: int) -> Iterator[str]:
    """The texts that the word there is compared with, by ``==``, ``!=`` or ``in [...]``."""
    after = [one for _, one in words[index + 1 : index + 3]]
    compared: list[tuple[str, str]] = []
    if index > 1 and words[index - 1][1] in _COMPARES:
        compared.append(words[index - 2])
    if after[:1] and after[0] in _COMPARES:
        compared += words[index + 2 : index + 3]
    elif after == ["in", "["]:
        compared += takewhile(lambda one: one[1] != "]", words[index + 3 :])
    for sort, word in compared:
        if sort == "string":
            with suppress(ValueError, SyntaxError):  # escapes that only CEL has
                yield str(literal_eval(word))


def _root(root: str, following: list[tuple[str, str]], found: Reading) -> None:
    """Record which key is read from a root, given the words that follow it."""
    key = None
    if len(following) > 1 and following[0][1] == "." and following[1][0] == "name":
        if [word for _, word in following[2:3]] != ["("]:
            key = following[1][1]
    elif len(following) > 2 and (following[0][1], following[1][0], following[2][1]) == ("[", "string", "]"):
        literal = following[1][1]
        if re.fullmatch(r"'[^'\\]+'|\"[^\"\\]+\"", literal):
            key = literal[1:-1]
    known = found.keys.setdefault(root, set())
    if key is None:
        found.keys[root] = None
    elif known is not None:
        known.add(key)
