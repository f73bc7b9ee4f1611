"""Refuses imports: a finder that precedes all others and gives refused modules a loader that raises."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Refusal = Callable[[], Exception]


class Refused(Loader):
    """Raises instead of loading, so that no code of the module runs."""

    def __init__(self, refusal: Refusal) -> None:
        self._refusal = refusal

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:  # noqa: ARG002 - as the import machinery calls it
        raise self._refusal()

    def exec_module(self, module: ModuleType) -> None:
        """Never called; the import machinery requires it."""


class Refusals(MetaPathFinder):
    """Refuses modules while it is installed. Code that only checks whether a module exists still finds it.

    Args:
        may: Whether a module of this name may have to be refused; called at every import.
        refusal: Creates the error to raise instead of loading the module; returns ``None`` to let it pass.
    """

    def __init__(self, may: Callable[[str], bool], refusal: Callable[[str, ModuleSpec], Refusal | None]) -> None:
        self._may, self._refusal = may, refusal

    def install(self) -> None:
        """Start refusing, before any other finder."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop refusing."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not self._may(fullname):
            return None
        spec = self._found(fullname, path, target)
        refusal = None if spec is None else self._refusal(fullname, spec)
        if spec is None or refusal is None:
            return None  # let the other finders find it
        spec.loader = Refused(refusal)
        return spec

    def _found(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                return spec
        return None
