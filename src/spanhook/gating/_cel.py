"""The package that runs CEL, also if a folder or a file ``cel`` of the application hides it."""

import importlib.util
import os
import sys
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import PackageNotFoundError, files
from typing import Any

from spanhook.errors import ConfigurationError

DISTRIBUTION = "common-expression-language"
_NAME = f"{__name__}.cel"
"""Its extension module, if it is hidden. The last part is fixed: it names the function that creates the module."""


@cache
def cel() -> Any:
    """The package that runs CEL.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        package = _hidden() or import_module("cel")
    except ImportError:
        package = None
    if not (hasattr(package, "Context") and hasattr(package, "compile")):
        raise ConfigurationError('conditions need CEL; pip install "spanhook[policies]"')
    return package


def _hidden() -> Any:
    """The extension module of the distribution, if ``import cel`` finds something else; otherwise ``None``.

    Only then: it can be loaded only once in a process, and the application may use it, too.
    """
    try:
        installed = {one.as_posix(): os.path.realpath(one.locate()) for one in files(DISTRIBUTION) or ()}
    except PackageNotFoundError:
        return None
    if not installed or _imported() == installed.get("cel/__init__.py"):
        return None
    extension = next((path for name, path in installed.items() if name.startswith("cel/cel.") and _loads(path)), None)
    spec = importlib.util.spec_from_file_location(_NAME, extension)
    if spec is None or spec.loader is None:
        return None
    module = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _imported() -> str | None:
    """The file that ``import cel`` runs, or has run."""
    try:
        spec = importlib.util.find_spec("cel")
    except (ImportError, ValueError):  # a module without a spec, or None, stands under the name
        return None
    return os.path.realpath(spec.origin) if spec is not None and spec.origin is not None else None


def _loads(path: str) -> bool:
    return path.endswith(tuple(EXTENSION_SUFFIXES))
