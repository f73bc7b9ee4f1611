"""Wraps functions that the instances of a class hold in an attribute: whoever reads the attribute gets the wrapper.

Such a function is the application's own, so it stays as it is in the instance.
"""

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from types import FunctionType
from typing import TYPE_CHECKING, Any

import wrapt

from spanhook.copies import Copied
from spanhook.instrument._family import Family
from spanhook.model import sheds

if TYPE_CHECKING:
    ObjectProxy = wrapt.ObjectProxy[Any]
else:
    ObjectProxy = wrapt.ObjectProxy  # not generic in wrapt 1

Driver = Callable[[Any, Any, tuple[Any, ...], dict[str, Any], bool], Any]
"""Makes a call of ``(function, instance, args, kwargs)`` as an operation; awaited if the last argument says so."""

_MISSING: Any = object()


class Wrapped(Copied, ObjectProxy):
    """What is read from an instance. It looks like what the instance holds; copying and pickling give that."""

    def __init__(self, wrapped: Any, instance: Any, driver: Driver) -> None:
        super().__init__(wrapped)
        self._self_instance, self._self_driver = instance, driver

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class HeldFunction(Wrapped):
    """A function."""

    _self_awaited = True

    @sheds
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function, awaits = self.__wrapped__, True
        if not _is_async(function):
            awaits = self._self_awaited and _on_a_loop()
            if awaits:
                function = partial(_settled, function)
        return self._self_driver(function, self._self_instance, args, kwargs, awaits)


class HeldObject(Wrapped):
    """An object of which some methods are wrapped."""

    _self_methods: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        if name in self._self_methods and callable(found):
            return HeldFunction(found, self._self_instance, self._self_driver)
        return found


def _is_async(function: Any) -> bool:
    """Whether a call returns a coroutine, as far as the function shows it."""
    if isinstance(function, FunctionType):
        return iscoroutinefunction(function)
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _on_a_loop() -> bool:
    """Whether an event loop runs here: whoever calls the function from there awaits its result if it can be awaited."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _settled(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    result: Awaitable[Any] | Any = function(*args, **kwargs)
    return await result if isawaitable(result) else result


# ------------------------------------------------------------------------------------------------- the attribute


class HeldBinding:
    """A descriptor in place of the attribute, until ``restore``. Instances keep what they hold in their own dict."""

    def __init__(self, owner: type, attribute: str, make: Callable[["HeldBinding"], Driver]) -> None:
        self.on = True
        self.methods: tuple[str, ...] = ()
        self.awaited = True
        self._owner, self._attribute = owner, attribute
        self._before = vars(owner).get(attribute, _MISSING)
        self._driver = make(self)
        self._read: dict[int, weakref.ref[Wrapped]] = {}  # by the id of the instance, which the wrapper keeps alive
        setattr(owner, attribute, self)

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self._of_class(None, self._owner if owner is None else owner)
        held: Any = instance.__dict__.get(self._attribute, _MISSING)
        if held is _MISSING:
            held = self._of_class(instance, type(instance))  # pyright: ignore[reportUnknownArgumentType]
        return self._wrapped(instance, held) if self.on and self._is_wrapped(held) else held

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._attribute] = value.__wrapped__ if issubclass(type(value), Wrapped) else value

    def __delete__(self, instance: Any) -> None:
        if self._attribute not in instance.__dict__:
            raise AttributeError(self._attribute)
        del instance.__dict__[self._attribute]

    def _of_class(self, instance: Any, cls: type[Any]) -> Any:
        """What the class itself has, such as a default."""
        found: Any = self._before
        after = iter(cls.__mro__)
        while found is _MISSING:
            base = next(after, None)
            if base is None:
                raise AttributeError(f"{cls.__name__!r} has no attribute {self._attribute!r}")
            found = vars(base).get(self._attribute, _MISSING)
            if found is self:
                found = _MISSING
        bind = getattr(type(found), "__get__", None)  # pyright: ignore[reportUnknownArgumentType]
        return found if bind is None else bind(found, instance, cls)

    def _is_wrapped(self, held: Any) -> bool:
        if issubclass(type(held), Wrapped):  # by the binding of a base class
            return False
        return held is not None if self.methods else callable(held)

    def _wrapped(self, instance: Any, held: Any) -> Wrapped:
        """The wrapper, always the same one while anybody holds it."""
        known = self._read.get(id(instance))
        wrapper = None if known is None else known()
        if wrapper is not None and wrapper.__wrapped__ is held:
            return wrapper
        if self.methods:
            wrapper = HeldObject(held, instance, self._driver)
            wrapper._self_methods = self.methods
        else:
            wrapper = HeldFunction(held, instance, self._driver)
            wrapper._self_awaited = self.awaited
        key = id(instance)

        def forget(gone: "weakref.ref[Wrapped]") -> None:
            if self._read.get(key) is gone:
                del self._read[key]

        self._read[key] = weakref.ref(wrapper, forget)
        return wrapper

    def restore(self) -> None:
        """Restore the class."""
        self.on = False
        if vars(self._owner).get(self._attribute) is not self:
            return
        if self._before is _MISSING:
            delattr(self._owner, self._attribute)
        else:
            setattr(self._owner, self._attribute, self._before)


class HeldFamily(Family):
    """The attribute of a class and of the subclasses that have one of their own."""

    binding = HeldBinding  # pyright: ignore[reportAssignmentType]

    def bind(self, cls: type) -> None:
        owner, _ = self._of(cls)
        if cls is self._base or owner is cls or (owner is not None and self._base not in owner.__mro__):
            self._bound.bind(cls)

    def unbound(self) -> Iterator[str]:
        return iter(())
