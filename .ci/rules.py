"""The rules of imports that import-linter cannot say shortly; ``python .ci/rules.py`` prints what breaks them.

- Doors: of a package, others import the names in its ``__all__``, and modules named there or in ``pyproject.toml``,
  which are doors themselves. A package without ``__all__`` is a shelf: others import its modules that are not private.
- Libraries: code of one library imports that of another only if its declaration ``knows`` it; nothing else does.
- Adapters: folders in ``instrument`` know what calls look like, and nothing of what ``pyproject.toml`` lists.
- SDKs: what is instrumented is imported where it is instrumented, and in the packages that ``pyproject.toml`` lists.
"""

import ast
import runpy
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
INSTRUMENT = "spanhook.instrument"


class Import(NamedTuple):
    """A name that a module imports from another one, or a module alone."""

    importer: str
    target: str
    name: str | None
    line: int


def modules() -> dict[str, Path]:
    """The file of each module, by its dotted name."""
    named = {path.relative_to(SOURCE).with_suffix("").parts: path for path in sorted(SOURCE.rglob("*.py"))}
    return {".".join(parts[: -1 if parts[-1] == "__init__" else None]): path for parts, path in named.items()}


def exports(text: str) -> frozenset[str] | None:
    """The names in a package's ``__all__``; ``None`` if it has none."""
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return frozenset(ast.literal_eval(node.value))
    return None


class Rules:
    """The rules, for the modules, declarations and settings of this repository."""

    def __init__(self) -> None:
        self.modules = modules()
        self.packages = {
            name: exports(path.read_text()) for name, path in self.modules.items() if path.name == "__init__.py"
        }
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["spanhook-rules"]
        self.unknown, self.exceptions = tuple(settings["adapters-know-not"]), settings["but"]
        self.doors = frozenset(settings["doors"])
        self.importing = tuple(settings["import-libraries"])
        declared = runpy.run_path(str(SOURCE / "spanhook/instrument/declarations.py"))["INSTRUMENTORS"].values()
        self.knows = {one.library: one.knows for one in declared}
        self.sdks = tuple({name for one in declared for name in (one.module, *one.beside)})

    def broken(self) -> Iterator[str]:
        """What breaks a rule, one line for each import."""
        for name, path in self.modules.items():
            for line, message in self.broken_by(name, path.read_text()):
                yield f"{path.relative_to(ROOT)}:{line}: {message}"

    def broken_by(self, importer: str, text: str) -> Iterator[tuple[int, str]]:
        """The line and what is wrong, for each import of a module that breaks a rule."""
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*"):
                yield node.lineno, "imports name the module, from spanhook on, and each name"
        for one in self.imports(importer, text):
            for rule in (self.door, self.library, self.adapter, self.sdk):
                if message := rule(one):
                    yield one.line, message

    def imports(self, importer: str, text: str) -> Iterator[Import]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                yield from (Import(importer, one.name, None, node.lineno) for one in node.names)
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    inner = f"{node.module}.{one.name}"
                    target, name = (inner, None) if inner in self.modules else (str(node.module), one.name)
                    yield Import(importer, target, name, node.lineno)

    def door(self, one: Import) -> str:
        parts = one.target.split(".")
        for depth in range(1, len(parts) + 1):
            package, inner = ".".join(parts[:depth]), parts[depth] if depth < len(parts) else one.name
            if package not in self.packages or inner is None or within(one.importer, package):
                continue
            if f"{package}.{inner}" in self.doors:
                continue
            exported = self.packages[package]
            if (depth == len(parts) or inner.startswith("_")) if exported is None else inner not in exported:
                return f"{inner} is not in __all__ of {package}, the door of that package: use another name, or add it"
        return ""

    def library(self, one: Import) -> str:
        mine, other = self.library_of(one.importer), self.library_of(one.target)
        if other is None or mine == other or other in self.knows.get(mine or "", ()):
            return ""
        return f"{one.target} belongs to {other}; only libraries whose declaration knows {other} import it"

    def library_of(self, module: str) -> str | None:
        """The library in whose folder a module is."""
        name = module.removeprefix(f"{INSTRUMENT}.").partition(".")[0] if within(module, INSTRUMENT) else ""
        return name if name in self.knows else None

    def adapter(self, one: Import) -> str:
        folder = ".".join(one.importer.split(".")[:3])
        if not within(folder, INSTRUMENT) or folder == INSTRUMENT or folder not in self.packages:
            return ""
        machinery = one.target.startswith(f"{INSTRUMENT}._") or any(within(one.target, name) for name in self.unknown)
        if not machinery or one.target in self.exceptions.get(one.importer.removeprefix(f"{INSTRUMENT}."), ()):
            return ""
        return f"adapters do not know {one.target}: what depends on it belongs to the engine or to a point"

    def sdk(self, one: Import) -> str:
        named = one.target if one.name is None else f"{one.target}.{one.name}"
        if not any(within(named, sdk) for sdk in self.sdks) or self.library_of(one.importer):
            return ""
        if any(within(one.importer, package) for package in self.importing):
            return ""
        return f"{one.target} is a library that is instrumented: import it in its folder in {INSTRUMENT}"


def within(module: str, package: str) -> bool:
    """Whether a module is a package, or is in it."""
    return module == package or module.startswith(f"{package}.")


if __name__ == "__main__":
    found = list(Rules().broken())
    print("\n".join(found) or "the rules of imports hold")
    sys.exit(1 if found else 0)
