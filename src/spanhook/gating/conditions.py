"""Conditions in CEL, the Common Expression Language: expressions about an operation, for configuration files.

    arguments.amount > 50 && identity.tenant_id != 'internal'

It reads ``arguments``, ``identity``, ``agent``, ``model``, ``name`` and ``usage`` (what the run has used so far). It
is limited, so that neither its text nor the data can make it slow. The language: https://cel.dev
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from spanhook.errors import ConditionError, ConfigurationError
from spanhook.gating._cel import cel
from spanhook.gating._condition_facts import Facts, Keys
from spanhook.gating._condition_text import FUNCTIONS, TYPES, Reading, read
from spanhook.gating._condition_types import guarded
from spanhook.gating._condition_values import FIELDS, MOST_ITEMS, MOST_TEXT, ROOTS
from spanhook.model import Operation

LONGEST = 2_000
"""Characters of a condition. For more, use a policy engine."""

MOST = ((MOST_ITEMS, MOST_TEXT), (500, 100_000), (50, 10_000))
"""Items of a list and characters of all texts that are read: without macros, with one, and with one inside another."""

MOST_CALLS = 5
"""So many macros a condition may have, and so many patterns, which are compiled for each call."""


class Condition:
    """A condition, compiled once; call it with an operation. Created by ``compile_condition``.

    Attributes:
        text: As it was written.
        keys: The roots that it reads, with the keys read from each.
    """

    __slots__ = ("_exact", "_most_items", "_most_text", "_named", "_program", "_roots", "keys", "text")

    def __init__(self, text: str, program: Any, reading: Reading, exact: Any = None) -> None:
        self.text, self._program, self._exact = text, program, exact
        self.keys: Keys = {
            root: None if keys is None else frozenset(keys) for root, keys in sorted(reading.keys.items())
        }
        self._roots = frozenset(self.keys)
        self._named = frozenset(reading.named)
        items, characters = MOST[reading.levels]
        self._most_items = items // (1 + reading.additions)
        self._most_text = characters // (1 + reading.additions)

    def __call__(self, op: Operation) -> bool:
        """Whether the condition is true for the operation.

        Raises:
            ConditionError: It cannot be evaluated, or is not true or false.
        """
        return self.holds(Facts(op, self.keys))

    def holds(self, facts: Facts) -> bool:
        """``__call__`` for one of several conditions that are checked for the same operation.

        Raises:
            ConditionError: As above.
        """
        try:
            if not (self._roots <= facts.whole and facts.longest <= self._most_items and facts.text <= self._most_text):
                self._check(*facts.size(self.keys))
            if "name" in self._roots:
                facts.name_as(self._named)
            found = self._compare(facts) if self._program is None else self._program.execute(facts.bound)
        except ConditionError as error:
            raise ConditionError(error.why, self.text) from None
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            if self._exact is None or isinstance(error, RecursionError):
                # Not the error's own words, nor the error as the cause: both may hold what was in the arguments.
                raise ConditionError(_said(error, self.text), self.text) from None
            found = self._compare(facts)
        if found is not True and found is not False:
            raise ConditionError(f"gives a value of type {type(found).__name__}, expected true or false", self.text)
        return found

    def _compare(self, facts: Facts) -> object:
        """Evaluate it with each comparison of a value from the call with a literal looked at."""
        differences = facts.differences()
        try:
            return self._exact.execute(facts.bound)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            types = differences.types  # they come before other errors, which CEL ignores if a part of it is false
            why = _said(error, self.text) if types is None else _differ(*types)
            raise ConditionError(why, self.text) from None

    def _check(self, longest: int, text: int) -> None:
        if longest > self._most_items:
            raise ConditionError(f"reads a list of {longest:,} items, which may have {self._most_items:,} here")
        if text > self._most_text:
            raise ConditionError(f"reads {text:,} characters, of which there may be {self._most_text:,} here")

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def compile_condition(text: str) -> Condition:
    """Compile a condition, to be called with an operation.

    Args:
        text: CEL, such as ``arguments.amount > 50``; at most ``LONGEST`` characters.

    Raises:
        ConfigurationError: It is not valid CEL, reads or calls something unknown, or could be too much work; or
            CEL is not installed. One line.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ConfigurationError(f"condition {text!r}: expected a CEL text such as 'arguments.amount > 50'")
    if len(text) > LONGEST:
        raise ConfigurationError(
            f"condition {text[:40]!r}... has {len(text):,} characters, at most {LONGEST:,} are allowed; split the rule"
        )
    package = cel()
    try:
        program = package.compile(text)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ConfigurationError(f"condition {text!r} is not valid CEL: {_parse_error(error)}") from None
    reading = read(text, ROOTS)
    mistakes = [*reading.mistakes, *_bad_patterns(reading)] or [*_mistakes(program.references(), reading)]
    if mistakes:
        raise ConfigurationError(f"condition {text!r}: {'; '.join(mistakes)}")
    try:
        texts = guarded(text, ROOTS)
        quick, exact = (package.compile(one) if one else None for one in texts)
    except (RecursionError, ValueError):  # the package allows for 96 levels; guards add to them
        raise ConfigurationError(f"condition {text!r} is nested too deeply") from None
    return Condition(text, program if exact is None else quick, reading, exact)


def references(text: str) -> Keys:
    """The roots that a condition reads, with the keys that it reads of each; ``None`` where it may be any.

    Raises:
        ConfigurationError: As ``compile_condition``.
    """
    return compile_condition(text).keys


def united(several: Iterable[Condition]) -> Keys:
    """What these conditions read together."""
    found: dict[str, frozenset[str] | None] = {}
    for condition in several:
        for root, keys in condition.keys.items():
            known = found.get(root, frozenset())
            found[root] = None if keys is None or known is None else known | keys
    return found


# ------------------------------------------------------------------------------------------------- mistakes


def _mistakes(names: Mapping[str, list[str]], reading: Reading) -> Iterable[str]:
    """What a program refers to that is not there, and what would be too much work."""
    if reading.levels >= len(MOST):
        yield f"{reading.levels} macros stand inside of each other, at most {len(MOST) - 1} are allowed"
    if reading.macros > MOST_CALLS:
        yield f"it has {reading.macros} macros, at most {MOST_CALLS} are allowed"
    if len(reading.patterns) > MOST_CALLS:
        yield f"it has {len(reading.patterns)} patterns, at most {MOST_CALLS} are allowed; put them together with |"
    for name in names["variables"]:
        if name not in ROOTS and name not in reading.items and name not in TYPES:
            yield f"unknown name {name!r}{_meant_root(name)}; expected one of {', '.join(FIELDS)}"
    for name in names["functions"]:
        if name[:1].isalpha() and name not in FUNCTIONS:
            yield f"unknown function {name!r}{_meant(name, FUNCTIONS)}; expected one of {', '.join(sorted(FUNCTIONS))}"
    for root, keys in reading.keys.items():
        known = FIELDS[root]
        for key in sorted(keys or ()):
            if known == ():
                yield f"{root}.{key}: {root} is a {'list' if root == 'names' else 'text'} and has no {key!r}"
            elif known is not None and key not in known:
                yield f"{root} has no {key!r}{_meant(key, known)}; expected one of {', '.join(known)}"


def _bad_patterns(reading: Reading) -> Iterable[str]:
    for pattern in reading.patterns:
        try:
            cel().compile(f"''.matches({pattern})").execute()
        except Exception:
            yield f"{pattern} is not a valid regular expression, or takes too much memory"


def _meant(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, sorted(known), 1, 0.6)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _meant_root(name: str) -> str:
    """What may be meant by an unknown name: a key of a root, such as ``identity.user_id`` by ``user``."""
    keys = {f"{root}.{key}": key for root, known in FIELDS.items() for key in known or ()}
    exact = [path for path, key in keys.items() if name in (key, key.removesuffix("_id"))]
    return f" (did you mean {exact[0]}?)" if exact else _meant(name, ROOTS)


def _parse_error(error: BaseException) -> str:
    """What the parser says, in one line: its messages, of which each begins with line and column."""
    lines = [line for line in str(error).splitlines() if "ERROR: <input>:" in line]
    if not lines:
        return "it cannot be parsed"
    place, _, said = lines[0].partition("ERROR: <input>:")[2].partition(": ")
    line, _, column = place.partition(":")
    return f"line {line}, column {column}: {said.partition(' expecting ')[0]}"


def _differ(one: str, other: str) -> str:
    return f"compares a value of type {one} with a value of type {other}, which are never equal; convert one of them"


def _said(error: BaseException, text: str) -> str:
    """Why it could not be evaluated, without a word of what was in the data."""
    if isinstance(error, KeyError):
        key = str(error.args[0]) if error.args else ""
        return f"reads {key!r}, which is not there" if key and key in text else "reads a key that is not there"
    if isinstance(error, IndexError):
        return "reads an item that is not there"
    if isinstance(error, ArithmeticError):
        return "calculates beyond what numbers can be"
    if isinstance(error, TypeError):
        return "compares or combines values of types that do not go together"
    if isinstance(error, RecursionError):
        return "reads data that is nested too deeply"
    return "cannot be evaluated"
