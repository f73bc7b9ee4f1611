"""Loads hooks by reference: ``./hooks.py:hooks`` or ``package.module:hooks``.

Every mistake in a loaded module becomes a ``ConfigurationError`` of one line.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from spanhook.errors import ConfigurationError, RequirementError
from spanhook.gating.hook import Hook
from spanhook.gating.offers import hooks_of
from spanhook.gating.places import OURS
from spanhook.gating.registering import Hooks


class Folders:
    """Finds modules beside the hooks' files, after every other finder: ``sys.path`` stays the application's own.

    It also finds the files themselves, under names of our own: the import system then handles concurrent imports.
    """

    def __init__(self) -> None:
        self.folders: list[str] = []
        self.files: dict[str, str] = {}

    def add(self, folder: str) -> None:
        if folder not in self.folders:
            self.folders.append(folder)
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        file = self.files.get(name)
        if file is not None:
            loader = SourceFileLoader(name, file)
            return importlib.util.spec_from_file_location(name, file, loader=loader)
        return PathFinder.find_spec(name, self.folders) if path is None else None

    def invalidate_caches(self) -> None:
        """Nothing: the path importers that do the finding have their own."""


_folders = Folders()


def load_hooks(spec: str) -> Hooks | Hook:
    """The registry or hook that ``spec`` names.

    A file is loaded once per process however often it is named, with its own folder importable. If the application
    finds it under its plain name too, it is that module, so that both share its state.

    Args:
        spec: ``path/to/hooks.py:name`` or ``package.module:name``.

    Raises:
        ConfigurationError: There is no such file, module or name, it cannot be imported, or the object is neither a
            ``Hooks`` nor a ``Hook``. One line.
    """
    target, module, name = _loaded(spec)
    found: object = getattr(module, name, None)
    offered = hooks_of(found)
    if offered is not None:
        return offered
    if found is None and not hasattr(module, name):
        raise ConfigurationError(f"hooks {spec!r}: {target} has no {name!r}; {_registries(module)}")
    if isinstance(found, type) and issubclass(found, Hook):
        raise ConfigurationError(f"hooks {spec!r}: {name} is a class; name an object, such as `hooks = {name}()`")
    said = _line(repr(getattr(module, name)))[:80]
    raise ConfigurationError(
        f"hooks {spec!r}: {name} is {said}, neither a spanhook.Hooks nor a spanhook.Hook; {_registries(module)}"
    )


def load_object(spec: str) -> Any:
    """The object that ``spec`` names, of any type; found as ``load_hooks`` finds hooks.

    Raises:
        ConfigurationError: There is no such file, module or name, or it cannot be imported. One line.
    """
    target, module, name = _loaded(spec)
    try:
        return getattr(module, name)
    except AttributeError:
        raise ConfigurationError(f"hooks {spec!r}: {target} has no {name!r}; correct the name") from None


def _loaded(spec: str) -> tuple[str, ModuleType, str]:
    """The target of a spec as written, its imported module, and the name in that module."""
    target, _, name = spec.rpartition(":")
    if not target or not name:
        raise ConfigurationError(f"hooks {spec!r}: expected path/to/hooks.py:hooks or package.module:hooks")
    with _one_line(spec, target):
        module = _from_file(spec, target) if is_path(target) else _from_module(spec, target)
        getattr(module, name, None)  # a module's __getattr__ may raise
    return target, module, name


def is_path(target: str) -> bool:
    """Whether the first half of a spec is a file rather than a module."""
    return target.endswith(".py") or os.sep in target or target.startswith((".", "~"))


def check_file(spec: str) -> None:
    """Check that the file that ``spec`` names exists, without loading anything.

    Raises:
        ConfigurationError: It is not.
    """
    target = spec.rpartition(":")[0]
    if not target or not is_path(target):
        return
    path = os.path.abspath(os.path.expanduser(target))
    if os.path.isdir(path):
        raise ConfigurationError(f"hooks {spec!r}: {target} is a folder; name a file in it, such as {target}/hooks.py")
    if not os.path.exists(path):
        raise ConfigurationError(f"hooks {spec!r}: the file {path} does not exist; correct the path")


def _from_file(spec: str, target: str) -> ModuleType:
    check_file(spec)
    return module_at(target)


def module_at(file: str) -> ModuleType:
    """Import an existing file, with its folder importable. Exceptions of the file itself are not caught.

    The module stays in ``sys.modules``, and each call returns the same one. If the application can import the file
    under its plain name, it is that module.
    """
    target = file
    path = os.path.abspath(os.path.expanduser(target))
    real = os.path.realpath(path)
    stem = os.path.splitext(os.path.basename(path))[0]
    if _is_found_as(stem, real):
        return importlib.import_module(stem)
    _folders.add(os.path.dirname(path))
    name = f"spanhook_hooks_{_word(real)}_{hashlib.sha256(real.encode()).hexdigest()[:8]}"
    _folders.files[name] = path
    return importlib.import_module(name)


def _word(path: str) -> str:
    return re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])


def _is_found_as(stem: str, real: str) -> bool:
    """Whether ``import stem`` gives the application this very file."""
    loaded = sys.modules.get(stem)
    if loaded is not None:
        origin = getattr(loaded, "__file__", None)
    else:
        found = PathFinder.find_spec(stem) if stem.isidentifier() else None
        origin = found.origin if found is not None else None
    return isinstance(origin, str) and os.path.realpath(origin) == real


def _from_module(spec: str, target: str) -> ModuleType:
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name and f"{target}.".startswith(f"{error.name}."):
            file = f"./{target.rpartition('.')[2]}.py"
            raise ConfigurationError(
                f"hooks {spec!r}: the module {error.name!r} does not exist; correct it, or name the file as {file}:name"
            ) from None
        raise


@contextmanager
def _one_line(spec: str, target: str) -> Generator[None]:
    """Turn any exception from loading into one line that says where."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except RequirementError as error:
        raise RequirementError(_line(f"hooks {spec!r}: {error} ({_place(error, target)})")) from error
    except ConfigurationError as error:
        place = "" if error.place else _place(error, target)
        message = str(error) if str(error).startswith("hooks ") else f"hooks {spec!r}: {error}"
        raise ConfigurationError(_line(f"{message} ({place})" if place else message)) from error
    except SyntaxError as error:
        raise ConfigurationError(
            _line(f"hooks {spec!r} cannot be read: {error.msg} ({error.filename}, line {error.lineno})")
        ) from error
    except ImportError as error:
        fix = "install it or correct the import"
        if "relative import" in str(error):
            fix = "name a module of a package as package.module:name instead of by its file"
        raise ConfigurationError(
            _line(f"hooks {spec!r} cannot be imported: {error}; {fix} ({_place(error, target)})")
        ) from error
    except BaseException as error:
        raise ConfigurationError(
            _line(f"hooks {spec!r} failed to load: {type(error).__name__}: {error} ({_place(error, target)})")
        ) from error


def _place(error: BaseException, target: str) -> str:
    """The line at fault: in the hooks' own file if it took part, otherwise the innermost outside spanhook."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((OURS, "<frozen "))
    ]
    path = os.path.abspath(os.path.expanduser(target))
    mine = [frame for frame in frames if frame.filename == path]
    chosen = (mine or frames)[-1:]
    return f"{chosen[0].filename}, line {chosen[0].lineno}" if chosen else ""


def _registries(module: ModuleType) -> str:
    found = [name for name, value in vars(module).items() if hooks_of(value) is not None]
    if found:
        return f"it has {', '.join(found)}"
    return "it has no registry; write `hooks = spanhook.Hooks()` in it"


def _line(text: str) -> str:
    return " ".join(text.split())
