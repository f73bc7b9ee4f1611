"""One method in a class and all its subclasses, existing or future; none of them is kept alive by it."""

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType
from typing import Any

import wrapt

from spanhook.diagnostics import log
from spanhook.fork import after_fork
from spanhook.instrument._wrapping import Binding, Wrapper

_lock = threading.RLock()

#: What every proxy of wrapt is. It has a class of its own for that since 2.0.
_Proxy: type = getattr(wrapt, "BaseObjectProxy", wrapt.ObjectProxy)


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


after_fork("wrapped families", _renew)


class ByClass:
    """Bindings, at most one per class. They are released with their classes."""

    def __init__(self, binding: type[Binding], attribute: str, make: Callable[[Binding], Callable[..., Any]]) -> None:
        self._binding, self._attribute, self._make = binding, attribute, make
        self._held: dict[int, weakref.ref[Binding]] = {}  # by the id of the class

    def bind(self, cls: type) -> None:
        known = id(cls)
        if known in self._held:
            return
        binding = self._binding(cls, self._attribute, self._make)

        def forget(gone: weakref.ref[Binding]) -> None:
            if self._held.get(known) is gone:
                del self._held[known]

        self._held[known] = weakref.ref(binding, forget)

    def restore(self) -> None:
        for found in reversed(list(self._held.values())):
            binding = found()
            if binding is not None:
                binding.restore()
        self._held.clear()


class Family:
    """A method of a base class, bound there and, after ``spread``, in every subclass that overrides it.

    Args:
        outside: Only methods defined outside these packages are bound.

    Attributes:
        binding: What binds it in one class.
    """

    binding = Binding

    def __init__(
        self, base: type, attribute: str, make: Callable[[Binding], Callable[..., Any]], outside: tuple[str, ...] = ()
    ) -> None:
        self._base, self._attribute, self._outside = base, attribute, outside
        self._bound = ByClass(self.binding, attribute, make)
        self._lineage: Lineage | None = None
        self.bind(base)

    @property
    def attribute(self) -> str:
        """The name of the method."""
        return self._attribute

    @staticmethod
    def spread(families: "list[Family]") -> None:
        """Bind families in all subclasses of their bases, existing and future.

        Families of one base are handled together, so that its subclasses are traversed once.
        """
        by_base: dict[int, list[Family]] = {}
        for family in families:
            by_base.setdefault(id(family._base), []).append(family)
        for joining in by_base.values():
            lineage = Lineage.of(joining[0]._base)
            for family in joining:
                family._lineage = lineage
            lineage.join(joining)

    def bind(self, cls: type) -> None:
        """Bind the method in a class that defines it."""
        owner, found = self._of(cls)
        if owner is None or (owner is not cls and self._base in owner.__mro__):
            return  # already bound
        if self._outside and self._is_inside(owner):
            return
        if not _is_abstract(found):
            # A method from a class outside the family, such as a mixin, is bound in the class that inherits it.
            self._bound.bind(cls)

    def _of(self, cls: type) -> tuple[type | None, Any]:
        for one in cls.__mro__:
            if self._attribute in one.__dict__:
                return one, one.__dict__[self._attribute]
        return None, None

    def _is_inside(self, owner: type) -> bool:
        return owner is self._base or owner.__module__.partition(".")[0] in self._outside

    def unbound(self) -> Iterator[str]:
        """Methods that receive calls but cannot be bound."""
        for cls in descendants(self._base):
            if self._lineage is not None:
                self._lineage.tell(cls)
            owner, found = self._of(cls)
            if owner is not cls or _is_abstract(found):
                continue
            if self._outside and self._is_inside(cls):
                continue
            while found is not None and not issubclass(type(found), Wrapper):
                found = getattr(found, "__wrapped__", None)  # another wrapper, around ours
            if found is None:
                yield f"{cls.__module__}.{cls.__qualname__}.{self._attribute}"

    def restore(self) -> None:
        """Unbind the method in every class."""
        if self._lineage is not None:
            self._lineage.leave(self)
        self._bound.restore()


class Lineage:
    """Notifies families of every subclass of their base: when it is created, or at the latest with its first instance.

    ``__init_subclass__`` of the base and of its subclasses reports creation; subclasses need not call ``super()``. A
    mixin may not call it either, and decorators and metaclasses set methods later. So this object also serves as the
    base's ``__new__``, and sees which class is instantiated. Once ``__new__`` was set, CPython refuses arguments to
    ``object.__new__`` even after it is deleted: so it stays, and then does nothing.
    """

    def __init__(self, base: type) -> None:
        self._base = base
        self._families: tuple[Family, ...] = ()
        self._born: dict[int, weakref.ref[type]] = {}
        self._new: Any = vars(base).get("__new__")
        self._made: Any = None
        self._hook: Any = None
        self._below = ByClass(Binding, "__init_subclass__", self._made_below)

    @staticmethod
    def of(base: type) -> "Lineage":
        """The lineage of ``base``."""
        found = vars(base).get("__new__")
        return found if type(found) is Lineage else Lineage(base)

    def join(self, families: list[Family]) -> None:
        """Notify ``families`` of all existing classes, and of future ones."""
        with _lock:
            if not self._families:
                self._watch()
            self._families = (*self._families, *families)
            for cls in descendants(self._base):
                self._tell(families, cls)

    def leave(self, family: Family) -> None:
        """Stop notifying ``family``."""
        with _lock:
            self._families = tuple(one for one in self._families if one is not family)
            if self._families:
                return
            self._born.clear()
            self._below.restore()
            if vars(self._base).get("__init_subclass__") is self._hook:
                _put_back(self._base, "__init_subclass__", self._made)
            if self._new is not None and vars(self._base).get("__new__") is self:
                _put_back(self._base, "__new__", self._new)

    def _watch(self) -> None:
        base = self._base
        before = self._made = vars(base).get("__init_subclass__")

        def made(cls: type, **kwargs: Any) -> None:
            if before is not None:
                before.__get__(None, cls)(**kwargs)
            else:
                super(base, cls).__init_subclass__(**kwargs)
            self.tell(cls)

        self._hook = _Hook(made)
        setattr(base, "__init_subclass__", self._hook)  # noqa: B010
        if vars(base).get("__new__") is not self:
            setattr(base, "__new__", self)  # noqa: B010

    def _follow(self, cls: type) -> None:
        if cls is not self._base and type(vars(cls).get("__init_subclass__")) is classmethod:
            self._below.bind(cls)

    def _made_below(self, binding: Binding) -> Callable[..., Any]:
        def made(wrapped: Any, cls: type, args: Any, kwargs: Any) -> None:
            wrapped(*args, **kwargs)
            if binding.on:
                self.tell(cls)

        return made

    def __get__(self, instance: Any, owner: type) -> Any:
        if self._families and id(owner) not in self._born:
            self.tell(owner)
            known = id(owner)
            self._born[known] = weakref.ref(owner, lambda _: self._born.pop(known, None))
        if self._new is not None:
            return self._new.__get__(None, owner) if hasattr(self._new, "__get__") else self._new
        new = super(self._base, owner).__new__
        return _without_arguments if new is object.__new__ and owner.__init__ is not object.__init__ else new

    def tell(self, cls: type) -> None:
        """Notify every family of one class."""
        with _lock:
            self._tell(self._families, cls)

    def _tell(self, families: Iterable[Family], cls: type) -> None:
        own, mixed = cls.__dict__, self._is_mixed(cls)
        for family in families:
            if mixed or family.attribute in own:
                _try(family.bind, cls)
        if "__init_subclass__" in own:
            _try(self._follow, cls)

    def _is_mixed(self, cls: type) -> bool:
        """Whether it may have methods from outside the family. If not, only its own methods matter."""
        base, classes, above = self._base, cls.__mro__, self._base.__mro__
        own = len(classes) - len(above)
        return classes[own:] != above or any(base not in one.__mro__ for one in classes[1:own])


def _is_abstract(found: Any) -> bool:
    """Whether a method is abstract. Proxies are looked through: each asks the next one twice, and instrumentations that
    put ours back after we have removed it make long chains of them. What an application's own decorator wraps does not
    count: its method may run although that is abstract.
    """
    while issubclass(type(found), _Proxy):
        found = found.__wrapped__
    return bool(getattr(found, "__isabstractmethod__", False))


def _try(tell: Callable[[type], None], cls: type) -> None:
    try:
        tell(cls)
    except Exception as error:
        log.error("spanhook: cannot bind what %s overrides; it is not gated", cls, exc_info=error)


class _Hook(classmethod):  # pyright: ignore[reportMissingTypeArgument]
    """Our own ``__init_subclass__``, which other lineages leave alone."""


class _WithoutArguments:
    """``object.__new__`` for classes that take arguments: it accepts them only if there is no ``__new__`` in between.

    It claims to be a builtin, like ``object.__new__``, so that ``inspect.signature`` reads the signature of
    ``__init__``.
    """

    __slots__ = ()
    __class__ = property(lambda _self: BuiltinFunctionType)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __call__(self, cls: type[Any], /, *_args: Any, **_kwargs: Any) -> Any:
        return object.__new__(cls)


_without_arguments = _WithoutArguments()


def _put_back(base: type, name: str, value: Any) -> None:
    if value is not None:
        setattr(base, name, value)
    else:
        delattr(base, name)


def descendants(cls: type) -> Iterator[type]:
    """A class and all its subclasses."""
    seen: dict[type, None] = {cls: None}
    queue = [cls]
    while queue:
        for subclass in type.__subclasses__(queue.pop()):
            if subclass not in seen:
                seen[subclass] = None
                queue.append(subclass)
    yield from seen
