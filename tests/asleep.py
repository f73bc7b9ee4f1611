"""Libraries whose wrappers are put aside between tests, since making them anew takes longer than most tests do.

While a library is asleep, its classes and modules have the very objects that were there before it was bound.
``spanhook.instrument()`` puts the same wrappers back in place, unless anything has changed: then it binds the library
anew. Tests of binding itself take the fixture ``unbound``.
"""

import sys
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from spanhook.config import instrumenting
from spanhook.engine import registry
from spanhook.instrument import Bindings, Instrumentor
from spanhook.instrument._family import Family
from spanhook.instrument._holding import _MISSING, HeldBinding
from spanhook.instrument._outlets import FamilyOnDemand, OnDemand, Telling
from spanhook.instrument._redirect import _redirection
from spanhook.instrument._wrapping import Binding
from spanhook.model import libraries

LIBRARIES = frozenset(("anthropic", "botocore", "groq", "langchain_core", "langgraph", "openai"))
"""Those of the default suite's environment. The others, each in an environment of its own, are bound for each test."""
_ABSENT = object()


class Aside:
    """A wrapper that was put aside, and what stands in its place.

    Raises:
        LookupError: It was not in place.
    """

    def __init__(self, binding: Binding | HeldBinding) -> None:
        self._binding = binding
        if isinstance(binding, Binding):
            (self._owner, self._attribute), self._wrapper = binding.place, binding._wrapper()
            before = binding.original if binding._own else _ABSENT
        else:
            self._owner, self._attribute, self._wrapper = binding._owner, binding._attribute, binding
            before = _ABSENT if binding._before is _MISSING else binding._before
        self._before: Any = before
        if not self._has(self._wrapper):
            raise LookupError
        binding.on = False
        if before is _ABSENT:
            delattr(self._owner, self._attribute)
        else:
            setattr(self._owner, self._attribute, before)
        self._function = binding.function if isinstance(binding, Binding) else None
        self._jump = self._code = None if self._function is None else self._function.__code__
        redirection = None if self._function is None else _redirection(self._function)
        if self._function is not None and redirection is not None:
            self._code = self._function.__code__ = redirection.code

    def is_as_before(self) -> bool:
        """Whether nothing has changed since the wrapper was put aside."""
        return self._has(self._before) and (self._function is None or self._function.__code__ is self._code)

    def put_back(self) -> None:
        """Put the wrapper in place."""
        self._binding.on = True
        setattr(self._owner, self._attribute, self._wrapper)
        if self._function is not None and self._jump is not None:
            self._function.__code__ = self._jump

    def _has(self, found: Any) -> bool:
        return vars(self._owner).get(self._attribute, _ABSENT) is found


class Asleep(Bindings):
    """Stands in for the bindings of a library until they are wanted again."""

    def __init__(self, library: Instrumentor) -> None:
        bindings = library.bindings
        super().__init__(bindings._table, bindings._mark)
        self._library, self._kept = library, bindings
        self._aside: list[Aside] = []
        self._noted: list[tuple[Callable[[type], None], weakref.ref[type]]] = []
        self._families: list[Any] = [one.made for one in bindings._made.values() if isinstance(one.made, Family)]
        self._described = _described(library)
        libraries.subtract(bindings._packages)
        bindings._on = False
        registry.changed.remove(bindings._adapt)
        for family in self._families:
            family.bind = self._note(family)
        for binding in reversed(list(self._bindings())):
            self._aside.append(Aside(binding))
        library.bindings = self

    def _note(self, family: Any) -> Callable[[type], None]:
        """Note classes that appear meanwhile."""
        bind = family.bind
        return lambda cls: self._noted.append((bind, weakref.ref(cls)))

    def _bindings(self) -> Iterator[Binding | HeldBinding]:
        """Those that outlive a test; of others, only the class is noted."""
        for one in self._kept._made.values():
            made = one.made
            if isinstance(made, OnDemand | FamilyOnDemand):
                made.restore()
            elif isinstance(made, Telling):
                yield made._binding
            elif isinstance(made, Binding):
                yield made
            elif isinstance(made, Family):
                for known, found in list(made._bound._held.items()):
                    binding = found()
                    if binding is not None and "<locals>" in binding._owner.__qualname__:
                        binding.restore()
                        made._bound._held.pop(known, None)
                        made.bind(binding._owner)
                    elif binding is not None:
                        yield binding

    def bind(self) -> None:
        bindings = self._library.bindings = self._kept
        for family in self._families:
            del family.bind
        if not self._is_as_before():
            bindings.restore()
            bindings.bind()
            return
        bindings._on = True
        registry.changed.append(bindings._adapt)
        libraries.update(bindings._packages)
        for aside in reversed(self._aside):
            aside.put_back()
        for bind, found in self._noted:
            cls = found()
            if cls is not None:
                bind(cls)
        for name, entries in bindings._by_module.items():
            if name in sys.modules and name not in bindings._modules:
                bindings._bind_module(sys.modules[name], entries)
        bindings._tell()

    def _is_as_before(self) -> bool:
        modules = self._kept._modules.items()
        if any(watched.is_replaced(name) or name not in sys.modules for name, watched in modules):
            return False
        described = zip(self._described, _described(self._library), strict=True)
        return all(one is other for one, other in described) and all(one.is_as_before() for one in self._aside)

    def unbind(self) -> None:
        """Forget the wrappers, unless the library is awake."""
        if self._library.bindings is self:
            self._library.bindings = self._kept
            for family in self._families:
                del family.bind
            self._kept.restore()


def _described(library: Instrumentor) -> list[object]:
    """How calls are described, as it was read when they were bound: tests put something else in its place."""
    names = _names.get(library.library)
    if names is None:
        values = (value for entry in library.table for value in vars(entry).values())
        places = (value.partition(":") for value in values if isinstance(value, str) and value.startswith("spanhook."))
        names = _names[library.library] = [(module, name) for module, _, name in places]
    return [getattr(sys.modules.get(module), name, None) for module, name in names]


def uninstrument() -> None:
    """Take every hook out, as ``spanhook.uninstrument()`` does, and put the libraries to sleep."""
    for library in instrumenting._active:
        if not _wide_awake and library.library in LIBRARIES and library.bindings._on and not library.bindings._earlier:
            try:
                _asleep[library.library] = Asleep(library)
            except LookupError:  # a wrapper was replaced: they are removed, and made anew
                continue
    instrumenting.uninstrument()


@contextmanager
def unbound() -> Generator[None]:
    """Put nothing to sleep meanwhile, and have nothing asleep."""
    while _asleep:
        _, asleep = _asleep.popitem()
        asleep.unbind()
    _wide_awake.append(True)
    try:
        yield
    finally:
        _wide_awake.pop()


@contextmanager
def allowed() -> Generator[None]:
    """Put libraries to sleep all the same."""
    awake, _wide_awake[:] = _wide_awake[:], []
    try:
        yield
    finally:
        _wide_awake[:] = awake


_names: dict[str, list[tuple[str, str]]] = {}
_asleep: dict[str, Asleep] = {}
_wide_awake: list[bool] = []
