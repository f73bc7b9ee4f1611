"""Wrapping the points of a library, and taking every wrapper off again.

Knows how to find and replace functions; what a wrapped call does is up to ``calls`` and ``proxies``.
"""

import importlib
import sys
from collections.abc import Callable, Collection, Iterator
from functools import partial
from importlib import metadata
from types import ModuleType
from typing import Any

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from packaging.requirements import Requirement

from spanhook import control
from spanhook.absorption import goes_on
from spanhook.calls import acall, acall_for, call, call_for
from spanhook.control import Control
from spanhook.current import Within, current
from spanhook.errors import UnboundError, internal, log
from spanhook.instrument.family import Family
from spanhook.instrument.outlets import OnDemand
from spanhook.instrument.wrapping import Binding
from spanhook.lifecycle import registry, wanted
from spanhook.proxies import lazy
from spanhook.record import Record
from spanhook.semconv import Kind
from spanhook.shape import Outlet, Point, Shape, Signal
from spanhook.tracebacks import shed

BOUND, WAITING, MISSING = "bound", "waiting", "missing"
"""States of a point: wrapped; its module is not imported yet; not there in this version."""


def _load(path: str) -> Any:
    """What ``module:name`` names; the module may import the library, which is loaded by now."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def _mode(point: Point, shape: Shape, sort: str) -> str:
    """How a function is driven: as it says itself, since subclasses override plain methods by async ones."""
    return sort if sort == "async" or (sort and shape.chunks is not None) else point.mode


def _operation(point: Point) -> Callable[[Binding], Callable[..., Any]]:
    """The wrapper of a point that is an operation.

    Its library may be half imported: what describes the point imports more of it, and is loaded at the first call then.
    """
    try:
        return _described(point)
    except (ImportError, AttributeError):
        return partial(_described_later, point)


def _described_later(point: Point, binding: Binding) -> Callable[..., Any]:
    found: list[Callable[..., Any]] = []

    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if not found:
            try:
                found.append(_described(point)(binding))
            except Exception as error:
                log.error("spanhook: %s cannot be read; calls that go through it are not gated", point, exc_info=error)
                found.append(lambda wrapped, _instance, args, kwargs: wrapped(*args, **kwargs))
        return found[0](wrapped, instance, args, kwargs)

    return wrapper


def _described(point: Point) -> Callable[[Binding], Callable[..., Any]]:
    given = _load(point.shape)
    choose = _load(point.choose) if point.choose else None
    on_demand = choose is None and given.on_demand

    def chosen(instance: Any, args: Any, kwargs: Any) -> Shape | Within | None:
        try:
            return choose(instance, args, kwargs) if choose is not None else given
        except Exception as error:
            internal.report("extract.shape", error)
            return given  # what cannot be told apart is gated all the same

    def make(binding: Binding) -> Callable[..., Any]:
        mode = _mode(point, given, binding.sort)

        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            try:
                if not binding.on:
                    return binding.beyond(wrapped, instance)(*args, **kwargs)
                if on_demand and not wanted(given.kind):
                    return wrapped(*args, **kwargs)
                shape = given if choose is None else chosen(instance, args, kwargs)
                if shape is None:
                    return wrapped(*args, **kwargs)
                if isinstance(shape, Within):
                    return (call_for if mode == "sync" else acall_for)(shape.held, wrapped, args, kwargs)
                held = current.get()
                if (
                    type(held) is Record
                    and held.instance is instance
                    and binding.is_super_call(held, shape)
                    and goes_on(held, args, kwargs)
                ):
                    return wrapped(*args, **kwargs)
                if mode == "sync":
                    return call(shape, wrapped, instance, args, kwargs)
                if mode == "async":
                    return acall(shape, wrapped, instance, args, kwargs)
                return lazy(shape, wrapped, instance, args, kwargs, is_async=mode == "astream")
            except BaseException as error:
                shed(error)
                raise

        return wrapper

    return make


def _signal(signal: Signal) -> Callable[[Binding], Callable[..., Any]]:
    """The wrapper of a function that is no operation."""
    after = _load(signal.after) if signal.after else None
    before = _load(signal.before) if signal.before else None
    around = _load(signal.around) if signal.around else None

    def make(binding: Binding) -> Callable[..., Any]:
        def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
            if binding.on and before is not None:
                try:
                    args, kwargs = before(instance, args, kwargs)
                except Exception as error:
                    internal.report("signal", error)
            try:
                if binding.on and around is not None:
                    result = around(wrapped, args, kwargs)
                else:
                    result = wrapped(*args, **kwargs)
            except BaseException as error:
                shed(error)
                raise
            if binding.on and after is not None:
                try:
                    after(instance, args, kwargs, result)
                except UnboundError:
                    raise
                except Exception as error:
                    internal.report("signal", error)
            return result

        return wrapper

    return make


Entry = Point | Signal | Outlet


class Bindings:
    """A table of points, signals and outlets, bound as their modules are imported.

    Attributes:
        states: State of each point by its name.
    """

    def __init__(self, table: Collection[Entry]) -> None:
        self._table = table
        self._made: list[Binding | Family | OnDemand] = []
        self._on = False
        self.states: dict[str, str] = {}

    def bind(self) -> None:
        """Bind what is imported, and the rest as it gets imported; nothing the second time."""
        if self._on:
            return
        self._on = True
        registry.changed.append(self._adapt)
        by_module: dict[str, list[Entry]] = {}
        for entry in self._table:
            by_module.setdefault(entry.module, []).append(entry)
            self.states[str(entry)] = WAITING
        for name, entries in by_module.items():
            module = sys.modules.get(name)
            if module is not None:
                self._bind_module(module, entries)
            else:
                wrapt.register_post_import_hook(self._later(entries), name)

    def _later(self, entries: list[Entry]) -> Callable[[ModuleType], None]:
        def imported(module: ModuleType) -> None:
            if self._on and self.states.get(str(entries[0])) == WAITING:
                self._bind_module(module, entries)

        return imported

    def _bind_module(self, module: ModuleType, entries: list[Entry]) -> None:
        for entry in entries:
            owner: Any = module
            *path, attribute = entry.name.split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if owner is None or not hasattr(owner, attribute):
                self.states[str(entry)] = MISSING
                if not entry.optional:
                    log.warning("spanhook: %s is not there; calls that go through it are not gated", entry)
                continue
            try:
                bind = _binder(entry)
            except Exception as error:
                self.states[str(entry)] = MISSING
                log.error("spanhook: cannot bind %s; calls that go through it are not gated", entry, exc_info=error)
                continue
            self._made.append(bind(owner, attribute))
            self.states[str(entry)] = BOUND
        if any(isinstance(entry, Outlet) for entry in entries):
            registry.tell()

    def _adapt(self) -> None:
        """Hooks have changed: bind the outlets that are wanted now, and no others."""
        for made in self._made:
            if isinstance(made, OnDemand):
                made.adapt()

    def unbound(self) -> Iterator[str]:
        """Overriding methods that are not bound, as ``module.Class.method``."""
        for made in self._made:
            if isinstance(made, Family):
                yield from made.unbound()

    def restore(self) -> None:
        """Take every wrapper off, the last one first."""
        self._on = False
        if self._adapt in registry.changed:
            registry.changed.remove(self._adapt)
        for made in reversed(self._made):
            made.restore()
        self._made = []
        self.states = {}


def _binder(entry: Entry) -> Callable[[Any, str], Binding | Family | OnDemand]:
    """What binds an entry, given its owner and its name there."""
    if isinstance(entry, Outlet):
        wanted, hold = _load(entry.wanted), partial(_load, entry.hold)
        return lambda owner, name: OnDemand(owner, name, wanted, hold, is_async=entry.is_async)
    if isinstance(entry, Signal):
        told = _signal(entry)
        return lambda owner, name: Binding(owner, name, told, plain=isinstance(owner, type))
    make = _operation(entry)
    if entry.overrides:
        return lambda owner, name: Family(owner, name, make, entry.outside)
    return lambda owner, name: Binding(owner, name, make)


class Instrumentor(BaseInstrumentor):
    """The table of points of one library.

    Attributes:
        library: The name users know it by, which is also that of its import.
        requirement: The distribution and its supported versions, as in a requirements file.
        table: The points.
        kinds: The kinds of operation that come of them.
        control: Which of its exceptions are no errors; it may be asked before the library is imported.
    """

    library: str = ""
    requirement: str = ""
    table: Collection[Entry] = ()
    kinds: frozenset[Kind] = frozenset()
    control: Control | None = None

    def __init__(self) -> None:
        if not hasattr(self, "bindings"):  # BaseInstrumentor hands out one instance per class
            super().__init__()
            self.bindings = Bindings(self.table)

    def instrumentation_dependencies(self) -> Collection[str]:
        return (self.requirement,)

    def _instrument(self, **_kwargs: Any) -> None:
        if self.control is not None:
            control.known.append(self.control)
        self.bindings.bind()

    def _uninstrument(self, **_kwargs: Any) -> None:
        self.bindings.restore()
        if self.control is not None and self.control in control.known:
            control.known.remove(self.control)

    @property
    def version(self) -> str:
        """The installed version, or empty."""
        try:
            return metadata.version(Requirement(self.requirement).name)
        except metadata.PackageNotFoundError:
            return ""

    @property
    def supported(self) -> bool:
        """Whether the installed version is one that is tested."""
        return Requirement(self.requirement).specifier.contains(self.version or "0", prereleases=True)

    @property
    def states(self) -> dict[str, str]:
        """State of each point: ``bound``, ``waiting`` for its module to be imported, or ``missing``."""
        return self.bindings.states

    def required_states(self) -> list[tuple[str, str]]:
        """States of the points that every supported version has."""
        return [(str(entry), self.states.get(str(entry), MISSING)) for entry in self.table if not entry.optional]

    def unbound(self) -> list[str]:
        """Methods of classes below the points that are not gated, as ``module.Class.method``."""
        return sorted(self.bindings.unbound())

    def load(self) -> None:
        """Import the modules of the points, so that what can be bound is."""
        for module in dict.fromkeys(entry.module for entry in self.table):
            try:
                importlib.import_module(module)
            except ImportError as error:
                log.debug("spanhook: %s: %s", module, error)
