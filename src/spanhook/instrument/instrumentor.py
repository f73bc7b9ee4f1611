"""Wraps the points of a library, and removes every wrapper again.

Knows how to find and replace functions; what a wrapped call does is up to ``calls`` and ``handover``.
"""

import importlib
import sys
import weakref
from collections.abc import Callable, Collection, Iterator
from functools import cached_property, partial
from importlib import metadata
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from spanhook.diagnostics import log
from spanhook.engine import registry
from spanhook.errors import ConfigurationError
from spanhook.gating import Control, Isolate, Pause, controls, isolating, pauses
from spanhook.instrument._binders import Adapting, Entry, Made, binder
from spanhook.instrument._family import Family
from spanhook.instrument._outlets import Telling
from spanhook.instrument._packages import has_mark, spec_of
from spanhook.instrument._points import Operations
from spanhook.instrument._reimports import Standing, Watched, reimports
from spanhook.instrument._states import BOUND, MISSING, WAITING, lacked, needed
from spanhook.instrument._versions import is_within, requirement, version
from spanhook.instrument._wrapping import Binding, static
from spanhook.instrument.declarations import INSTRUMENTORS, Declaration
from spanhook.instrument.metaclass import MetaFamily
from spanhook.model import MetaPoint, Point, libraries


def _has(owner: Any, attribute: str) -> bool:
    """Whether a module or class has an attribute. A metaclass is not asked: it may import what it looks up."""
    if not isinstance(owner, type):
        return hasattr(owner, attribute)
    return static(owner, attribute) is not None or attribute in getattr(owner, "__dataclass_fields__", ())


class Bindings:
    """A table of points, signals and outlets, bound as their modules are imported.

    Args:
        table: The entries.
        mark: What tells the library's package from others of its name; see ``Declaration``.

    Attributes:
        states: State of each point by its name.
    """

    def __init__(self, table: Collection[Entry], mark: tuple[str, ...] = ()) -> None:
        self._table, self._mark = table, mark
        self._made: dict[int, Standing] = {}  # by the id of the entry
        self._earlier: list[weakref.ref[Binding | Family | MetaFamily | Telling]] = []
        self._operations: dict[int, Operations] = {}
        self._modules: dict[str, Watched] = {}
        self._awaited: set[str] = set()
        self._on = False
        self.states: dict[str, str] = {}

    def bind(self) -> None:
        """Bind what is imported, and the rest when it is imported; a second call does nothing."""
        if self._on:
            return
        self._on = True
        registry.changed.append(self._adapt)
        self.states.update(dict.fromkeys(map(str, self._table), WAITING))
        libraries.update(self._packages)
        for name, entries in self._by_module.items():
            module = sys.modules.get(name)
            if module is not None:
                self._bind_module(module, entries)
            elif name not in self._awaited:  # such a hook cannot be removed, so the one of an earlier time will do
                self._awaited.add(name)
                wrapt.register_post_import_hook(self._later(name, entries), name)
        self._tell()

    def _tell(self) -> None:
        if any(isinstance(one.made, Adapting) for one in self._made.values()):
            registry.tell()

    def _later(self, name: str, entries: list[Entry]) -> Callable[[ModuleType], None]:
        def imported(module: ModuleType) -> None:
            self._awaited.discard(name)
            if self._on and self.states.get(str(entries[0])) == WAITING:
                self._bind_module(module, entries)
                self._tell()

        return imported

    def _again(self, entries: list[Entry], module: ModuleType) -> None:
        """Bind a module that was imported again. What the application has of the earlier one stays bound, and is
        released with it.
        """
        if self._on:
            self._bind_module(module, entries)
            self._tell()

    def _bind_module(self, module: ModuleType, entries: list[Entry]) -> None:
        if not has_mark(spec_of(module), self._mark):
            return
        name = entries[0].module
        watched = self._modules.get(name)
        if watched is None:
            watched = self._modules[name] = Watched(entries, partial(self._again, entries))
            reimports.watch(name, watched.again)
        watched.seen = weakref.ref(module)
        families: list[Family] = []
        try:
            for entry in entries:
                made = self._bind_entry(module, entry)
                if isinstance(made, Family):
                    families.append(made)
        finally:
            Family.spread(families)

    def _bind_entry(self, module: ModuleType, entry: Entry) -> Made | None:
        owner: Any = module
        *path, attribute = entry.name.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        bound_anyway = isinstance(entry, MetaPoint) or (isinstance(entry, Point) and entry.below)
        if owner is None or not (bound_anyway or _has(owner, attribute)):
            self.states[str(entry)] = MISSING
            if lacked(entry, self._table, self.states):
                log.warning("spanhook: %s is missing; calls that go through it are not gated", entry)
            return None
        known = self._made.get(id(entry))
        if known is not None:
            if known.holds(owner, attribute):
                return known.made
            self._set_aside(entry, known.made)
        try:
            bind = binder(entry, self._operations, partial(self.states.__setitem__, str(entry), MISSING))
        except Exception as error:
            self.states[str(entry)] = MISSING
            log.error("spanhook: cannot bind %s; calls that go through it are not gated", entry, exc_info=error)
            return None
        try:
            made = bind(owner, attribute)
        except ConfigurationError as error:
            self.states[str(entry)] = MISSING
            log.error("spanhook: cannot bind %s: %s; its calls are not gated", entry, error)
            return None
        self._made[id(entry)] = Standing(owner, made)
        self.states[str(entry)] = BOUND
        return made

    def _set_aside(self, entry: Entry, made: Made) -> None:
        del self._made[id(entry)]
        rest = made if isinstance(made, Binding | Family | MetaFamily | Telling) else made.bound
        self._earlier = [one for one in self._earlier if one() is not None]
        if rest is not None:
            self._earlier.append(weakref.ref(rest))

    @cached_property
    def _by_module(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for entry in self._table:
            found.setdefault(entry.module, []).append(entry)
        return found

    @cached_property
    def _packages(self) -> frozenset[str]:
        return frozenset(module.partition(".")[0] for module in self._by_module)

    def lack(self, module: str) -> None:
        """Note that this version has no such module, so that nothing waits for it."""
        for entry in self._table:
            if entry.module == module and self.states.get(str(entry)) == WAITING and not self.needs(entry):
                self.states[str(entry)] = MISSING

    def needs(self, entry: Entry) -> bool:
        """Whether an entry has to be bound in this version."""
        return needed(entry, self._table, self.states)

    def settle(self) -> None:
        """Read what could not be read while the library was being imported; what still cannot be read is missing."""
        for operations in list(self._operations.values()):
            operations.settle()

    def _adapt(self) -> None:
        """Hooks or settings have changed: add or remove on-demand wrappers."""
        for name, watched in list(self._modules.items()):
            if watched.is_replaced(name):  # by code that does not use the import system
                log.warning("spanhook: %s was imported again unnoticed; its calls were not gated until now", name)
                self._bind_module(sys.modules[name], watched.entries)
        for one in (*(one.made for one in self._made.values()), *(one() for one in self._earlier)):
            if isinstance(one, Adapting):
                one.adapt()

    def unbound(self) -> Iterator[str]:
        """Overriding methods that are not bound, as ``module.Class.method``."""
        for one in self._made.values():
            if isinstance(one.made, Family | MetaFamily):
                yield from one.made.unbound()
        for name, watched in self._modules.items():
            if watched.is_replaced(name):
                yield f"{name} as it was imported again"

    def restore(self) -> None:
        """Remove every wrapper, the last one first."""
        if self._on:
            libraries.subtract(self._packages)
        self._on = False
        if self._adapt in registry.changed:
            registry.changed.remove(self._adapt)
        for name, watched in self._modules.items():
            reimports.unwatch(name, watched.again)
        for one in reversed(self._made.values()):
            one.made.restore()
        for one in reversed(self._earlier):
            made = one()
            if made is not None:
                made.restore()
        self._made, self._earlier, self._operations, self._modules, self.states = {}, [], {}, {}, {}


class Instrumentor(BaseInstrumentor):
    """The table of points of one library.

    Attributes:
        library: The name under which it is declared in ``declarations``.
        table: The points.
        kinds: The kinds of operation that the points create.
        control: Tells which of its exceptions are not errors; may be called before the library is imported.
        pause: Pauses what runs until a person has answered a question; see ``spanhook.gating.pausing``.
        isolate: Keeps hooks in shadow mode from what it passes on in the context; called in a copy of that.
    """

    library: str = ""
    table: Collection[Entry] = ()
    kinds: frozenset[str] = frozenset()
    control: Control | None = None
    isolate: Isolate | None = None
    pause: Pause | None = None

    def __init__(self) -> None:
        if not hasattr(self, "bindings"):  # BaseInstrumentor returns one instance per class
            super().__init__()
            declared = INSTRUMENTORS.get(self.library)
            self.bindings = Bindings(self.table, declared.mark if declared is not None else ())

    @property
    def declared(self) -> Declaration:
        """The facts declared about the library."""
        return INSTRUMENTORS[self.library]

    @property
    def requirement(self) -> str:
        """The distribution and its supported versions, as in a requirements file."""
        return self.declared.requirement

    def instrumentation_dependencies(self) -> Collection[str]:
        return (self.requirement,)

    def _instrument(self, **_kwargs: Any) -> None:
        if self.control is not None:
            controls.append(self.control)
        if self.isolate is not None:
            isolating.append(self.isolate)
        if self.pause is not None:
            pauses.append(self.pause)
        self.bindings.bind()

    def _uninstrument(self, **_kwargs: Any) -> None:
        self.bindings.restore()
        if self.control is not None and self.control in controls:
            controls.remove(self.control)
        if self.isolate is not None and self.isolate in isolating:
            isolating.remove(self.isolate)
        if self.pause is not None and self.pause in pauses:
            pauses.remove(self.pause)

    @property
    def version(self) -> str:
        """The installed version, or empty."""
        try:
            return version(requirement(self.requirement).name)
        except metadata.PackageNotFoundError:
            return ""

    @property
    def supported(self) -> bool:
        """Whether the installed version is supported."""
        return is_within(self.requirement, self.version or "0")

    @property
    def states(self) -> dict[str, str]:
        """State of each point: ``bound``, ``waiting`` for its module to be imported, or ``missing``."""
        return self.bindings.states

    def required_states(self) -> list[tuple[str, str]]:
        """States of the points that must be bound in this version; a server's count as bound until it is started."""
        waited = WAITING if self.declared.late else None
        needs = self.bindings.needs
        found = ((str(entry), self.states.get(str(entry), MISSING)) for entry in self.table if needs(entry))
        return [(point, BOUND if state == waited else state) for point, state in found]

    def unbound(self) -> list[str]:
        """Methods of subclasses that are not gated, as ``module.Class.method``."""
        return sorted(self.bindings.unbound())

    def load(self) -> None:
        """Import the modules of the points, so that everything that can be bound is bound.

        Those of a server that is not yet started are bound when it is.
        """
        if self.declared.late:
            return
        if not has_mark(find_spec(self.declared.module.partition(".")[0]), self.declared.mark):
            return
        for module in dict.fromkeys(entry.module for entry in self.table):
            try:
                importlib.import_module(module)
            except Exception as error:  # what an optional part that is not installed leads to is not always ImportError
                log.debug("spanhook: %s: %s", module, error)
                self.bindings.lack(module)
        self.bindings.settle()
