"""Functions of the application that a configuration file names as tools and agents: checked, bound and required."""

import ast
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

from spanhook.config.reading import Document, Keys
from spanhook.errors import ConfigurationFileError, Mistake, RequirementError
from spanhook.instrument import Bindings, BoundFunction, import_bound
from spanhook.semconv import Kind

if TYPE_CHECKING:
    from spanhook.config.bind_entry import BindEntry, BoundEntry
    from spanhook.config.file import ConfigurationFile

_KINDS: dict[str, Kind] = {"tools": "tool.execute", "agents": "agent.invoke"}
_active: list[tuple[tuple[BoundFunction, ...], Bindings]] = []


def bound_functions(file: "ConfigurationFile | None") -> tuple[BoundFunction, ...]:
    """The functions that a file names, in its order."""
    return () if file is None else tuple(function for _, function in _entries(file.configuration.bind))


def _entries(bind: "BindEntry") -> Iterator[tuple[Keys, BoundFunction]]:
    for part, kind in _KINDS.items():
        entries: Sequence[BoundEntry] = getattr(bind, part)
        for index, entry in enumerate(entries):
            module, _, name = entry.function.partition(":")
            yield ("bind", part, index), BoundFunction(module=module, name=name, kind=kind, label=entry.name or "")


def bind_functions(file: "ConfigurationFile") -> None:
    """Bind the functions that a file names, in place of those of an earlier file: at once if their module is imported,
    else when it is. Nothing is imported for it.

    Raises:
        ConfigurationFileError: A function does not exist, as far as its module's source shows.
    """
    mistakes = [file.document.mistake(keys, message) for keys, message in _problems(file.configuration.bind)]
    if mistakes:
        raise ConfigurationFileError(mistakes)
    functions = bound_functions(file)
    release_functions()
    if functions:
        bindings = Bindings(functions)
        bindings.bind()
        _active.append((functions, bindings))


def check_functions(document: Document, folder: str) -> tuple[list[Mistake], list[str]]:
    """Check the functions that a file names against the sources of their modules; nothing is imported.

    Args:
        document: The file.
        folder: Where modules are looked for first, as the application does.

    Returns:
        The mistakes, and the packages that are not installed here, whose functions cannot be checked.
    """
    from pydantic import ValidationError

    from spanhook.config.bind_entry import BindEntry

    try:
        bind = BindEntry.model_validate(document.data.get("bind") or {})
    except ValidationError:  # reported with the other mistakes of the file
        return [], []
    packages = {_package(function) for _, function in _entries(bind)}
    sys.path.insert(0, folder)  # only now: what is in the folder must not hide a library that is imported
    try:
        absent = {package for package in packages if package != "__main__" and _spec(package) is None}
        found = list(_problems(bind, absent))
    finally:
        sys.path.remove(folder)
    return [document.mistake(keys, message) for keys, message in found], sorted(absent)


def _problems(bind: "BindEntry", ignored: Collection[str] = ()) -> Iterator[tuple[Keys, str]]:
    """Why functions cannot be bound, each with its keys, except those of ignored packages."""
    seen = set[str]()
    for keys, function in _entries(bind):
        problem = "it is named twice" if str(function) in seen else ""
        if not problem and _package(function) not in ignored:
            problem = _problem(function)
        seen.add(str(function))
        if problem:
            yield keys, f"{function}: {problem}"


def release_functions() -> None:
    """Restore the functions that are bound."""
    while _active:
        _active.pop()[1].restore()


def states() -> dict[str, str]:
    """The state of each function, by its name in the file."""
    return {name: state for _, bindings in _active for name, state in bindings.states.items()}


def unbound_functions() -> dict[str, str]:
    """Import the modules of the functions; returns why those that are still not bound are not, by name."""
    return {name: why for made, bindings in _active for name, why in import_bound(made, bindings.states).items()}


def is_function(name: str, functions: Sequence[BoundFunction]) -> bool:
    """Whether a required name is a function of the file, or the package of one."""
    return any(name in (str(one), one.module, _package(one)) for one in functions)


def _package(function: BoundFunction) -> str:
    return function.module.partition(".")[0]


def require_functions(required: Sequence[str]) -> None:
    """Import the modules of required functions, and find out whether they are bound.

    Args:
        required: Functions of the file, or packages.

    Raises:
        RequirementError: One is not bound.
    """
    for made, bindings in _active:
        wanted = [one for one in made if any(is_function(name, (one,)) for name in required)]
        for name, why in import_bound(wanted, bindings.states).items():
            raise RequirementError(f"required function {name!r} is not bound: {why}")


# --------------------------------------------------------------------------------------------- what there is


def _problem(function: BoundFunction) -> str:
    """Why a function cannot be bound; empty if that is not known before its module is imported."""
    if function.module in sys.modules and function.module != "__main__":
        return ""  # binding it says what is wrong
    spec = None if function.module == "__main__" else _spec(function.module)
    script = sys.argv[0] if sys.argv else ""
    if function.module == "__main__" or (spec is not None and spec.origin and _is_same(script, spec.origin)):
        return (
            "the application is started with this script, whose functions cannot be bound from outside; move the "
            "function to a module, or decorate it with spanhook.tool or spanhook.agent"
        )
    if spec is None:
        return f"the module {function.module} does not exist; if the application finds it elsewhere, set PYTHONPATH"
    return _lack(spec, function.name.split("."))


def _spec(module: str) -> ModuleSpec | None:
    """The spec of a module; its packages are not imported."""
    path: Any = None
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        spec = next((found for one in sys.meta_path if (found := _found(one, name, path)) is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
        if path is None and count < len(parts):
            return None
    return spec


def _found(finder: Any, name: str, path: Any) -> ModuleSpec | None:
    find = PathFinder.find_spec if finder is PathFinder else getattr(finder, "find_spec", None)
    try:
        return None if find is None else find(name, path)
    except Exception:  # a finder of somebody else, or one of ours that refuses the module
        return None


def _is_same(script: str, origin: str) -> bool:
    return bool(script) and os.path.realpath(script) == os.path.realpath(origin)


def _lack(spec: ModuleSpec, names: list[str]) -> str:
    """What a module's source shows to be missing of ``Class.method``, if it shows it."""
    get_source = getattr(spec.loader, "get_source", None)
    try:
        source = None if get_source is None else get_source(spec.name)
        tree = None if source is None else ast.parse(source)
    except Exception:  # importing it will say what is wrong
        return ""
    if tree is None:
        return ""
    known = {word for node in ast.walk(tree) for word in _words(node)}
    if "*" not in known and "__getattr__" not in known and names[0] not in known:
        return f"{spec.name} has no {names[0]}"
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and one.name == names[0]]
    if len(names) > 1 and classes and not any(one.bases or one.keywords or one.decorator_list for one in classes):
        inside = {word for one in classes for node in ast.walk(one) for word in _words(node)}
        if names[1] not in inside:
            return f"{names[0]} of {spec.name} has no {names[1]}"
    return ""


def _words(node: ast.AST) -> Iterator[str]:
    """The names that a part of a source may give to something."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield node.value
