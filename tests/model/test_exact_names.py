"""A rule for the source: names of the application are read by ``exact_text``, never by ``str()`` or an f-string.

These show what a subclass of ``str`` makes of itself, such as ``Model.MINI``, and not what is sent.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import spanhook
from tests.inventory import each

SOURCE = Path(spanhook.__file__).parent
BORDER = "instrument"
"""Where names are read from objects of libraries. What is inside gets exact text, which f-strings may hold."""
READERS = (BORDER, "definitions", "dry_run.py", "engine", "gating", "hooks", "iterations", "model", "runs", "telemetry")
ALLOWED = {
    "model/encoding.py": "exact_text itself",
    "instrument/bound.py": "the path of a function, as the configuration file has it, in a message",
    "instrument/watching.py": "the service name of a resource of the SDK",
    "gating/handlers.py": "the name of a hook, in a message",
    "runs/user.py": "the keys of a user's fields",
}
_NAMES = re.compile(
    r"(?:^|_)(?:names?|named|model|agent|tool|tenant|provider|role|author|coworker)(?:_id|_name)?$"
    r"|(?:tenant|user|session|agent|thread|graph|run|model)_?id$",
    re.IGNORECASE,
)


def _words(node: ast.expr) -> Iterator[str]:
    """The words that say what an expression reads."""
    match node:
        case ast.Name(word) | ast.Attribute(attr=word) | ast.Constant(str(word)):
            yield word
        case ast.BoolOp(values=several):
            for one in several:
                yield from _words(one)
        case ast.IfExp(body=one, orelse=other):
            yield from (*_words(one), *_words(other))
        case ast.Subscript(slice=ast.Constant() | ast.Attribute() as key):
            yield from _words(key)
        case ast.Call(ast.Name("getattr"), several) | ast.Call(ast.Attribute(attr="get" | "given" | "pop"), several):
            for one in several[-2:]:
                yield from () if isinstance(one, ast.Name) else _words(one)
        case ast.Call(ast.Attribute(value, "strip" | "lower" | "removeprefix" | "partition" | "split")):
            yield from _words(value)
        case _:
            pass


def _texts(tree: ast.AST, *, is_border: bool) -> Iterator[tuple[int, ast.expr]]:
    """What is made text: by ``str``, or at the border by an f-string that reads it there."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("str" | "format"), [value, *_]):
                yield node.lineno, value
            case ast.Call(ast.Name("map"), [ast.Name("str"), value]):
                yield node.lineno, value
            case ast.FormattedValue(ast.Name() | ast.Attribute(ast.Name("self" | "change"))):
                pass  # ours, or read before
            case ast.FormattedValue(value, -1 | 115) if is_border:
                yield node.lineno, value
            case _:
                pass


def inexact(source: str, *, is_border: bool = True) -> list[str]:
    """The names in a source that are not read exactly, with their lines."""
    found = _texts(ast.parse(source), is_border=is_border)
    return [f"{line}: {ast.unparse(value)}" for line, value in found if any(map(_NAMES.search, _words(value)))]


def _modules() -> list[str]:
    every = (one.relative_to(SOURCE).as_posix() for one in sorted(SOURCE.rglob("*.py")))
    return [path for path in every if path.startswith(READERS) and path not in ALLOWED]


@each(_modules())
def test_names_are_read_exactly(path: str) -> None:
    assert inexact((SOURCE / path).read_text("utf-8"), is_border=path.startswith(BORDER)) == []


PLANTED = (
    "str(instance.name), str(role).strip(), [*map(str, names)]",
    'str(getattr(agent, "name", None) or type(agent).__name__), str(body.get("model") or "")',
    """str(attributes.get(semconv.GEN_AI_REQUEST_MODEL, '')), f"mcp__{server}__{params.get('name')}" """,
)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_name_that_is_not_read_exactly_is_found(planted: str) -> None:
    assert len(inexact(planted)) == len(re.findall(r'\bstr\b|f"', planted))


def test_other_texts_are_not_names() -> None:
    assert inexact("str(error), f'{name}', f'{name!r}', str(result.output), exact_text(tool.name)") == []
