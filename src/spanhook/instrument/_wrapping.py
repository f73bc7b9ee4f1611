"""Replaces a function with a wrapper, and restores it. Knows nothing of what a wrapped call does."""

import copy
import functools
import inspect
import weakref
from collections.abc import Callable, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_ITERABLE_COROUTINE
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

import wrapt

from spanhook.instrument._redirect import Reached, copy_of, redirect, release
from spanhook.model import Adapter, Record

if TYPE_CHECKING:
    BoundFunctionWrapper, FunctionWrapper = wrapt.BoundFunctionWrapper[..., Any], wrapt.FunctionWrapper[..., Any]
else:
    BoundFunctionWrapper, FunctionWrapper = wrapt.BoundFunctionWrapper, wrapt.FunctionWrapper  # not generic in wrapt 1


class BoundWrapper(BoundFunctionWrapper):
    """A wrapped method, copied and pickled like a method: by its instance or class, and its name."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        instance, name = self._self_found()
        return getattr(instance if isinstance(instance, type) else copy.deepcopy(instance, memo), name)

    def __reduce__(self) -> Any:
        return getattr, self._self_found()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    @property
    def __func__(self) -> Any:
        """The method's function, which leads to the gate; the one that is wrapped here is a copy that does not."""
        wrapped: Any = self.__wrapped__
        found, function = wrapped.__func__, self._self_parent._self_point.function
        return found if function is None else function  # not in place of the first: a class's function has none

    def _self_found(self) -> tuple[Any, str]:
        owner, name = self._self_parent._self_point.place
        return getattr(self.__wrapped__, "__self__", owner), name


class Wrapper(FunctionWrapper):
    """A wrapped function, copied and pickled like a function: by its name."""

    __bound_function_wrapper__ = BoundWrapper

    def __init__(self, wrapped: Any, wrapper: Any, point: "Binding") -> None:
        super().__init__(wrapped, wrapper)
        self._self_point = point

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        return self.__qualname__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class BoundApart(BoundWrapper):
    """A static or class method: what it was called on is passed to the adapter, not to the method."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        on = self._self_instance
        instance = getattr(self.__wrapped__, "__self__", None) if on is None else on
        wrapper: Any = self._self_wrapper
        return wrapper(self.__wrapped__, instance, args, kwargs)


class WrapperApart(Wrapper):
    """A static or class method."""

    __bound_function_wrapper__ = BoundApart


class Binding:
    """A function replaced with its wrapper until ``restore``.

    The wrapper owns it, and it refers weakly to the wrapper: both are released with the class, or when they are
    replaced.

    Attributes:
        function: The function that was replaced, if it is a plain one.
    """

    def __init__(
        self,
        owner: Any,
        attribute: str,
        make: Callable[["Binding"], Callable[..., Any]],
        *,
        plain: bool = False,
    ) -> None:
        self.on = True
        self._owner, self._attribute, self._make = owner, attribute, make
        self._own = attribute in vars(owner)
        self._original = self._found()
        self.function = function_of(self._original)
        inner: Any = _copied(self._original)
        self._inside: Wrapper | None = None
        decorated = _decorated_by(self._original, getattr(make, "decorator", ""))
        if decorated is not None:
            self.function = decorated
            inner = wrapt.FunctionWrapper(copy_of(decorated), self._original._self_wrapper)
            self._inside = Wrapper(copy_of(decorated), make(self), self)
        kind = WrapperApart if type(inner) in (staticmethod, classmethod) else Wrapper
        wrapper: Any = _as_method(inner, make(self)) if plain else kind(inner, make(self), self)
        self._wrapper: weakref.ref[Any] = weakref.ref(wrapper)
        if self.function is not None:
            redirect(self.function, self, keep=self._is_kept_alone())
        setattr(owner, attribute, wrapper)

    def _found(self) -> Any:
        if not isinstance(self._owner, type):
            return getattr(self._owner, self._attribute)
        if not self._own:
            return static(self._owner, self._attribute)
        found = vars(self._owner)[self._attribute]
        while issubclass(type(found), Wrapper) and found._self_point.is_copied_to(self):
            found = found._self_point._original
        return found

    def _is_kept_alone(self) -> bool:
        """Whether a reference to the function keeps nothing alive that leads to its class: a static method created with
        the class.

        One that was only assigned later may outlive many classes, and would keep them all alive.
        """
        if not self._own or not isinstance(self._original, staticmethod) or self.function is None:
            return False
        return self.function.__qualname__ == f"{self._owner.__qualname__}.{self._attribute}"

    def is_copied_to(self, other: "Binding") -> bool:
        """Whether ``other``'s class was created from the attributes of this one's, like dataclasses with slots."""
        return self._make is other._make and self._owner is not other._owner

    def is_made_by(self, make: Callable[["Binding"], Callable[..., Any]]) -> bool:
        """Whether it is in place, and its wrapper was created by ``make``."""
        return self.on and self._make == make

    @property
    def original(self) -> Any:
        """What stood in the class or module."""
        return self._original

    @property
    def place(self) -> tuple[Any, str]:
        """Its class or module, and its name there."""
        return self._owner, self._attribute

    @property
    def sort(self) -> str:
        """``"async"``, ``"stream"`` or ``"astream"`` if the function itself shows what a call returns, else empty."""
        function = function_of(self._original)
        if function is None:
            return ""
        flags = function.__code__.co_flags
        if flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE):
            return "async"
        if function.__dict__ and inspect.iscoroutinefunction(function):
            return "async"  # marked as a coroutine function
        if flags & CO_ASYNC_GENERATOR:
            return "astream"
        return "stream" if flags & CO_GENERATOR else ""

    def reached(self, args: tuple[Any, ...]) -> Reached | None:
        """What a call of the function itself should call; ``None`` for a mixin's function called on unrelated
        classes.
        """
        standing, owner = self._wrapper(), self._owner
        if standing is None:
            return None
        wrapper: Any = standing if self._inside is None else self._inside
        if not isinstance(owner, type):
            return wrapper, args
        if not self._own and not (args and isinstance(args[0], owner)):
            return None
        if isinstance(self._original, staticmethod):
            return wrapper.__get__(None, owner), args
        if isinstance(self._original, classmethod):
            return wrapper.__get__(None, args[0]), args[1:]
        return wrapper.__get__(args[0], type(args[0])), args[1:]

    def beyond(self, wrapped: Callable[..., Any], instance: Any) -> Callable[..., Any]:
        """What a removed wrapper calls: the original function, whose code may in turn lead to a new wrapper."""
        if self.function is None or self._is_within_another():
            return wrapped
        if not isinstance(self._owner, type):
            return self.function
        if isinstance(instance, type):
            return self._original.__get__(None, instance)
        return self._original.__get__(instance, self._owner if instance is None else type(instance))

    def _is_within_another(self) -> bool:
        there = cast("Mapping[str, Any]", vars(self._owner))
        found: Any = there.get(self._attribute)
        mine = self._wrapper()
        while issubclass(type(found), Wrapper) and found is not mine:
            found = found._self_point._original
        return found is mine

    def is_super_call(self, op: Record, adapter: Adapter) -> bool:
        """Whether an overridden method is being called from the overriding one, whose operation is ``op``."""
        if not _is_same_sort(op.adapter, adapter) or not op.called or op.ended:
            return False
        for cls in type(op.instance).__mro__:
            if self._attribute in vars(cls):
                return cls is not self._owner
        return False

    def restore(self) -> None:
        """Restore the original object; if other code has wrapped ours since, ours stays and passes calls through."""
        self.on = False
        if self.function is not None:
            release(self.function, self)
        wrapper = self._wrapper()
        there = cast("Mapping[str, Any]", vars(self._owner))
        if wrapper is None or _unbound(there.get(self._attribute)) is not wrapper:
            return
        original = self._original
        while issubclass(type(original), Wrapper) and not original._self_point.on:
            original = original._self_point._original  # another engine's wrapper, removed before this one
        if self._own:
            setattr(self._owner, self._attribute, original)
        else:
            delattr(self._owner, self._attribute)


def _is_same_sort(one: Adapter, other: Adapter) -> bool:
    """Whether two adapters are of the same call. A method may make a stream of what it overrides, or the other way
    round; what reports usage is added up as a transport instead.
    """
    return one is other or (one.layer == other.layer and one.kind == other.kind and not other.nesting.transport_of)


def _unbound(found: Any) -> Any:
    """A wrapper, also if it stands in its class as a method that was read from there, as OpenTelemetry's ``unwrap``
    leaves it.
    """
    return found._self_parent if issubclass(type(found), BoundWrapper) else found


def static(cls: type, attribute: str) -> Any:
    """An attribute as stored in the class that defines it, without descriptor access."""
    for one in cls.__mro__:
        if attribute in one.__dict__:
            return one.__dict__[attribute]
    return None


def function_of(found: Any) -> FunctionType | None:
    """The function behind an attribute of a class or module, if there is one."""
    while issubclass(type(found), Wrapper):
        found = found._self_point._original
    if type(found) in (staticmethod, classmethod):
        found = found.__func__
    return found if type(found) is FunctionType else None


def _decorated_by(found: Any, package: str) -> FunctionType | None:
    """The function inside of a decorator of this package, made with wrapt; references to what that has made lead to
    it.
    """
    if not package or type(found) is not wrapt.FunctionWrapper:
        return None
    inside: Any = cast("Any", found).__wrapped__
    made_by = getattr(cast("Any", found)._self_wrapper, "__module__", None) or ""
    return inside if type(inside) is FunctionType and made_by.partition(".")[0] == package else None


def _copied(found: Any) -> Any:
    if type(found) is FunctionType:
        return copy_of(found)
    if type(found) in (staticmethod, classmethod) and type(found.__func__) is FunctionType:
        return type(found)(copy_of(found.__func__))
    return found


def _as_method(inner: Any, wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function instead of a ``wrapt.FunctionWrapper``, for methods that are pushed onto an ``ExitStack``.

    ``ExitStack`` takes anything with ``__exit__`` for a context manager, and wrapt's proxies have it.
    """

    @functools.wraps(inner)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return wrapper(inner.__get__(self, type(self)), self, args, kwargs)

    return method
