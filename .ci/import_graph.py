"""The Python files of this repository as a graph whose edges are imports, and what each is for.

An edge is an import, a relative one and one inside a function too, or the name of a module in a string. Files are
searched, not parsed: that takes a tenth of the time, and finds the code in strings that tests give to other processes.
"""

import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULE_FOLDERS = ("src", "tests", "benchmarks", "examples", "grafana", "docs")
WAYS = "src/spanhook/cli/conformance/libraries/"
DECLARATIONS = "src/spanhook/instrument/declarations.py"
NOT_IMPORTED = (DECLARATIONS, "src/spanhook/model/tracebacks.py")  # modules that these name in strings

_IMPORT = re.compile(r"^[ \t]*(?:from (\.*)([\w.]*) import (\([^)]*\)|[^\n(]+)|import ([\w., ]+))", re.MULTILINE)
_NAME = re.compile(r"\b\w+")
_QUOTED = re.compile(r"[\"'](spanhook(?:\.\w+)+)(?::\w+)?[\"']")
_DOTTED = re.compile(r"\b(?:spanhook|tests|benchmarks|grafana)(?:\.\w+)+")
_DECLARED = re.compile(r'declaration\(\s*"(\w+)",[^)]*?requirement="([\w.-]+)')


@functools.cache
def modules() -> dict[str, str]:
    """The path of each module, by its dotted name."""
    paths = (path.relative_to(ROOT) for folder in MODULE_FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    named = {path.with_suffix("").parts[path.parts[0] == "src" :]: path.as_posix() for path in paths}
    return {".".join(name[: -1 if name[-1] == "__init__" else None]): path for name, path in named.items()}


@functools.cache
def paths() -> frozenset[str]:
    """The paths of all modules."""
    return frozenset(modules().values())


@functools.cache
def folders() -> dict[str, frozenset[str]]:
    """The modules directly in each folder that has some."""
    found: dict[str, set[str]] = {}
    for path in paths():
        found.setdefault(path.rpartition("/")[0], set()).add(path)
    return {folder: frozenset(inside) for folder, inside in found.items()}


@functools.cache
def module_of(name: str) -> str | None:
    """The path of the module that a dotted name is or is in, or None."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return modules().get(name)


@functools.cache
def imports(path: str) -> frozenset[str]:
    """The paths of the modules that a module names, and the packages around it, which are imported before it."""
    parts = Path(path).with_suffix("").parts[path.startswith("src/") :]
    text = (ROOT / path).read_text()
    names = {".".join(parts[:depth]) for depth in range(1, len(parts))}
    for dots, package, several, alone in _IMPORT.findall(text):
        around = [*parts[: len(parts) - len(dots)]] if dots else []
        names.update(".".join(filter(None, [*around, package, name])) for name in _NAME.findall(several))
        names.update(name.split()[0] for name in alone.split(",") if name.strip())
    if path not in NOT_IMPORTED:
        names.update(name for name in _QUOTED.findall(text) if name in modules())
    if not path.startswith("src/"):
        names.update(name for name in _DOTTED.findall(text) if name in modules())
    if path.startswith("tests/"):
        names.update(["spanhook.__main__"] if '"spanhook"' in text else [])  # the command
        names.update(_fixtures_of(path))
    found = {module_of(name) for name in names}
    if owner(path) and path.endswith("__init__.py"):  # its table of points names them
        found.update(other for other in paths() if other.startswith(path.removesuffix("__init__.py")))
    return frozenset(other for other in found if other and other != path)


def _fixtures_of(path: str) -> Iterator[str]:
    parts = Path(path).parts[:-1]
    return (".".join([*parts[:depth], "conftest"]) for depth in range(1, len(parts) + 1))


@functools.cache
def requirements() -> dict[str, str]:
    """The distribution of each library that spanhook binds."""
    return dict(_DECLARED.findall((ROOT / DECLARATIONS).read_text().lower()))


@functools.cache
def owner(path: str) -> str | None:
    """The library that a file is about, or None."""
    match = re.match(rf"(?:src/spanhook/instrument/|{WAYS}|tests/instrument/)(?:test_)?(\w+)", path)
    names = [one for one in requirements() if match and re.match(rf"{one}(_|$)", match[1])]
    return max(names, key=len, default=None)


@functools.cache
def libraries_in(versions: str) -> frozenset[str]:
    """The libraries that an environment has."""
    pinned = set(re.findall(r"^([\w.-]+)==", (ROOT / versions).read_text().lower(), re.MULTILINE))
    return frozenset(library for library, distribution in requirements().items() if distribution in pinned)


@functools.cache
def entry_points() -> frozenset[str]:
    """The modules of ready-made hooks."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spanhook_hook"]
    return frozenset(filter(None, (module_of(point.partition(":")[0]) for point in points.values())))


@functools.cache
def loaded_by_path() -> frozenset[str]:
    """The modules of spanhook that no other imports, such as migrations, and those that these alone import."""
    ours = {path for path in paths() if path.startswith("src/") and not owner(path) and not path.startswith(WAYS)}
    before, loaded = None, frozenset[str]()
    while loaded != before:
        before = loaded
        used = {
            other
            for path in paths() - loaded
            for other in imports(path)
            if not (other.endswith("__init__.py") and path.startswith(other.removesuffix("__init__.py")))
        }
        loaded = frozenset(ours - used)
    return loaded


@functools.cache
def nodes_of(path: str) -> frozenset[str]:
    """The nodes of the graph that a file stands for.

    Itself, and the package around it if that loads it by its path; for data and deleted files, the modules in the
    nearest folder that has some.
    """
    if path in paths():
        nodes = {path}
        while path in loaded_by_path():
            around = (f"{folder.as_posix()}/__init__.py" for folder in Path(path).parents)
            path = next(package for package in around if package in paths() and package != path)
            nodes.add(path)
        return frozenset(nodes)
    if Path(path).parts[0] not in MODULE_FOLDERS:
        return frozenset()
    for folder in list(Path(path).parents)[:-2]:
        if folder.as_posix() in folders():
            return folders()[folder.as_posix()]
    return frozenset()
