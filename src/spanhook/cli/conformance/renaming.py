"""Ways of calling in which names are members of an ``Enum``, as applications write them: ``class Model(str, Enum)``.

They are a copy of a library's module, and of those that it imports beside it, in which texts of the source that are
names are replaced.
"""

import ast
import gc
import importlib
import re
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from spanhook.cli.conformance import libraries

SHOWN = re.compile(r"(?:^|[ ,/:])Named\.")
"""How ``str()`` and f-strings show such a member, alone or in the name of a span."""
_PACKAGE = f"{libraries.__name__}."
_MEMBERS = "_members_"


def members(names: Sequence[str]) -> Mapping[str, Any]:
    """A member of an ``Enum`` for each name."""
    made: Any = Enum("Named", [(f"NAME_{place}", name) for place, name in enumerate(names)], type=str)
    return {str.__str__(one): one for one in made}


@cache
def renamed(library: str, names: frozenset[str]) -> ModuleType:
    """The ways of calling a library, with these names as members of an ``Enum``."""
    package = libraries.__dict__
    held, bound = {name: one for name, one in [*sys.modules.items()] if name.startswith(_PACKAGE)}, dict(package)
    finder = _Finder(names)
    _forget()
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(f"{_PACKAGE}{library}")
    finally:
        sys.meta_path.remove(finder)
        _forget()
        sys.modules.update(held)
        package.update(bound)


def _forget() -> None:
    for name in [name for name in [*sys.modules] if name.startswith(_PACKAGE)]:
        del sys.modules[name]


@contextmanager
def _uncollected() -> Generator[None]:
    """Without the garbage collector: CPython 3.11 fails if a finalizer runs while it makes a syntax tree.

    https://github.com/python/cpython/issues/106905
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Finder:
    """Finds the modules of the libraries, to be loaded with other names."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname.startswith(_PACKAGE) else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._names)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, names: frozenset[str]) -> None:
        super().__init__(fullname, path)
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        path = self.get_filename(module.__name__)
        found = frozenset(text for text in _texts(path) if self._is_name(text))
        code = _renamed_code(path, found) if found else self.get_code(module.__name__)
        assert code is not None
        vars(module)[_MEMBERS] = members(sorted(found))
        exec(code, vars(module))  # noqa: S102 - the command's own source

    def _is_name(self, text: str) -> bool:
        return text in self._names or any(text.endswith((f"/{name}", f":{name}")) for name in self._names)


@cache
def _texts(path: str) -> frozenset[str]:
    """Every text in a module."""
    with _uncollected():
        nodes = ast.walk(ast.parse(Path(path).read_bytes(), path))
        return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@cache
def _renamed_code(path: str, found: frozenset[str]) -> CodeType:
    """A module's code, in which these texts are read from the members of an ``Enum``."""
    with _uncollected():
        tree = ast.fix_missing_locations(_Naming(found).visit(ast.parse(Path(path).read_bytes(), path)))
        return compile(tree, path, "exec", dont_inherit=True)


class _Naming(ast.NodeTransformer):
    """Reads texts from the members of an ``Enum``; annotations stay as they are."""

    def __init__(self, found: frozenset[str]) -> None:
        self._found = found

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value not in self._found:
            return node
        return ast.Subscript(ast.Name(_MEMBERS, ast.Load()), node, ast.Load())

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.MatchValue:
        return node
