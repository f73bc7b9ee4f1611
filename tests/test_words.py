"""Words that say little in names of code: their number only falls."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
CEILINGS = {
    "asked": 869,
    "chosen": 146,
    "found": 2332,
    "given": 2780,
    "plain": 396,
    "said": 1214,
    "settle": 120,
    "told": 2059,
}
"""How often each may be a word of a name. Whoever renames something lowers the number."""

_BETWEEN_WORDS = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])")


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in ("id", "attr", "name", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


def counted() -> Counter[str]:
    """How often each of the words is in a name, at each place where that stands."""
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        for name in _names(ast.parse(path.read_text())):
            found.update(word for word in map(str.lower, _BETWEEN_WORDS.split(name)) if word in CEILINGS)
    return found


def test_they_become_fewer() -> None:
    now = counted()
    assert not {word: (now[word], most) for word, most in CEILINGS.items() if now[word] > most}, (
        "name it by what it is: a result, a value, a request, attributes, a message; see docs/CONTRIBUTING.md"
    )
    assert not {word: now[word] for word, most in CEILINGS.items() if now[word] < most * 0.98}, "lower the numbers"
