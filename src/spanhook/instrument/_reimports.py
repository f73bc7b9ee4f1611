"""Notices modules that are imported again by their names: reloaded, or imported after they left ``sys.modules``."""

import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import wrapt

from spanhook.copies import Copied
from spanhook.diagnostics import internal
from spanhook.instrument._packages import spec_of
from spanhook.instrument._wrapping import Wrapper

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # not generic in wrapt 1

Imported = Callable[[ModuleType], None]


class Reimports(MetaPathFinder):
    """Precedes all other finders, and calls back when a module that is watched has been executed.

    Post-import hooks of wrapt are called once for each name. This finder does nothing but for names that are watched,
    which are those of modules that have been imported already.
    """

    def __init__(self) -> None:
        self._watched: dict[str, tuple[Imported, ...]] = {}
        self._finding = threading.local()

    def watch(self, name: str, imported: Imported) -> None:
        """Call ``imported`` with each module of this name that is executed from now on."""
        self._watched[name] = (*self._watched.get(name, ()), imported)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def unwatch(self, name: str, imported: Imported) -> None:
        """Call ``imported`` no longer."""
        rest = tuple(one for one in self._watched.get(name, ()) if one != imported)
        if rest:
            self._watched[name] = rest
        else:
            self._watched.pop(name, None)
        if not self._watched and self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._watched or getattr(self._finding, "name", "") == fullname:
            return None
        self._finding.name = fullname  # another finder may ask all finders in turn
        try:
            spec = self._found(fullname, path, target)
        finally:
            self._finding.name = ""
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = cast("Any", _Loader(spec.loader, self._executed))
        return spec

    def _found(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None and finder is not self else None
            if spec is not None:
                return spec
        return None

    def _executed(self, module: ModuleType) -> None:
        spec = spec_of(module)
        for imported in self._watched.get(module.__name__ if spec is None else spec.name, ()):
            try:
                imported(module)
            except Exception as error:
                internal.report("reimport", error)


class _Loader(Copied, ObjectProxy):
    """The loader of a module that is watched. It leaves the module with its own loader."""

    def __init__(self, loader: Any, executed: Imported) -> None:
        super().__init__(loader)
        self._self_executed = executed

    def exec_module(self, module: ModuleType) -> None:
        loader = self.__wrapped__
        spec = spec_of(module)
        mine: Any = self
        if spec is not None and spec.loader is mine:
            spec.loader = loader
        if vars(module).get("__loader__") is mine:
            module.__loader__ = loader
        loader.exec_module(module)
        self._self_executed(module)


reimports = Reimports()


@dataclass(frozen=True, slots=True)
class Standing:
    """An entry that is bound.

    Attributes:
        owner: The class or module in which it is bound.
        made: What has bound it.
    """

    owner: Any
    made: Any

    def holds(self, owner: Any, attribute: str) -> bool:
        """Whether the entry is bound in this owner still; a module that is reloaded is the same, its functions not."""
        if owner is not self.owner:
            return False
        there = cast("Mapping[str, Any]", vars(owner))
        return isinstance(owner, type) or issubclass(type(there.get(attribute)), Wrapper)


class Watched:
    """A module that was bound, whose later imports are watched.

    Attributes:
        entries: What is bound in it.
        again: Called with the module when it is imported again.
        seen: The module that was bound last.
    """

    __slots__ = ("again", "entries", "seen")

    def __init__(self, entries: list[Any], again: Callable[[ModuleType], None]) -> None:
        self.entries, self.again = entries, again
        self.seen: weakref.ref[ModuleType] | None = None

    def is_replaced(self, name: str) -> bool:
        """Whether another module has its name, which was not bound."""
        now = sys.modules.get(name)
        if now is None or self.seen is None or self.seen() is now:
            return False
        return not getattr(spec_of(now), "_initializing", False)  # it is being imported, and bound at the end of that
