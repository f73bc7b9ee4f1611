"""Replacing one function, or one method in a family of classes, by a wrapper, and taking it off again."""

import copy
import functools
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import wrapt

from spanhook.instrument.redirect import copy_of, redirect
from spanhook.record import Record
from spanhook.shape import Shape


class BoundWrapper(wrapt.BoundFunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """A method, which is copied and pickled as methods are: by its instance, or class, and its name."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        instance, name = self._self_found()
        return getattr(instance if isinstance(instance, type) else copy.deepcopy(instance, memo), name)

    def __reduce__(self) -> Any:
        return getattr, self._self_found()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def _self_found(self) -> tuple[Any, str]:
        owner, name = self._self_parent._self_place
        return getattr(self.__wrapped__, "__self__", owner), name


class Wrapper(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """A function, which is copied and pickled as functions are: by its name."""

    __bound_function_wrapper__ = BoundWrapper

    def __init__(self, wrapped: Any, wrapper: Any, place: tuple[Any, str]) -> None:
        super().__init__(wrapped, wrapper)
        self._self_place = place

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __reduce__(self) -> Any:
        return self.__qualname__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class Binding:
    """One function replaced by its wrapper, until ``restore``."""

    def __init__(
        self,
        owner: Any,
        attribute: str,
        make: Callable[["Binding"], Callable[..., Any]],
        *,
        plain: bool = False,
    ) -> None:
        self.on = True
        self._owner, self._attribute = owner, attribute
        self._own = attribute in vars(owner)
        self._original = vars(owner)[attribute] if self._own else getattr(owner, attribute)
        inner, self._unredirect = self._original, None
        if type(inner) is FunctionType:
            inner = copy_of(inner)
        self._wrapper: Any = _as_method(inner, make(self)) if plain else Wrapper(inner, make(self), (owner, attribute))
        if type(self._original) is FunctionType and (self._own or not isinstance(owner, type)):
            self._unredirect = redirect(self._original, self._reach(isinstance(owner, type)))
        setattr(owner, attribute, self._wrapper)

    def _reach(self, is_method: bool) -> Callable[..., Any]:
        wrapper = self._wrapper
        if not is_method:
            return wrapper

        def method(instance: Any, /, *args: Any, **kwargs: Any) -> Any:
            return wrapper.__get__(instance, type(instance))(*args, **kwargs)

        return method

    def beyond(self, wrapped: Callable[..., Any], instance: Any) -> Callable[..., Any]:
        """What a wrapper that was taken off leads to: the function that was there, whose code may lead to a new one."""
        original: Any = self._original
        if type(original) is not FunctionType:
            return wrapped
        return original.__get__(instance) if isinstance(self._owner, type) else original

    def is_super_call(self, op: Record, shape: Shape) -> bool:
        """Whether a method that was overridden is called from within the overriding one, whose operation ``op`` is."""
        if op.shape is not shape or not op.called or op.ended:
            return False
        for cls in type(op.instance).__mro__:
            if self._attribute in vars(cls):
                return cls is not self._owner
        return False

    def restore(self) -> None:
        """Put the very object back that was there; where somebody wrapped ours since, it stays and passes through."""
        self.on = False
        if self._unredirect is not None:
            self._unredirect()
        if vars(self._owner).get(self._attribute) is self._wrapper:
            if self._own:
                setattr(self._owner, self._attribute, self._original)
            else:
                delattr(self._owner, self._attribute)


class Family:
    """One method in a class and in all its subclasses that have their own, present and future."""

    def __init__(self, base: type, attribute: str, make: Callable[[Binding], Callable[..., Any]]) -> None:
        self._base, self._attribute, self._make = base, attribute, make
        self._bindings: list[Binding] = []
        self._on = True
        for cls in _descendants(base):
            self._bind(cls)
        self._hook = self._watch()

    def _bind(self, cls: type) -> None:
        owner = next((one for one in cls.__mro__ if self._attribute in vars(one)), None)
        if owner is None or (owner is not cls and issubclass(owner, self._base)):
            return  # it is bound there
        if not getattr(vars(owner)[self._attribute], "__isabstractmethod__", False):
            # One that comes from a class beside the family, such as a mixin, is bound in the class that inherits it.
            self._bindings.append(Binding(cls, self._attribute, self._make))

    def _watch(self) -> Any:
        base, bind = self._base, self._bind
        before = vars(base).get("__init_subclass__")
        self._before = before

        def made(cls: type, **kwargs: Any) -> None:
            if before is not None:
                before.__get__(None, cls)(**kwargs)
            else:
                super(base, cls).__init_subclass__(**kwargs)
            if self._on:
                bind(cls)

        hook = classmethod(made)
        setattr(base, "__init_subclass__", hook)  # noqa: B010
        return hook

    def restore(self) -> None:
        """Take it off every class again."""
        self._on = False
        for binding in reversed(self._bindings):
            binding.restore()
        if vars(self._base).get("__init_subclass__") is self._hook:
            if self._before is not None:
                setattr(self._base, "__init_subclass__", self._before)  # noqa: B010
            else:
                delattr(self._base, "__init_subclass__")


def _descendants(cls: type) -> Iterator[type]:
    seen: dict[type, None] = {cls: None}
    queue = [cls]
    while queue:
        for subclass in queue.pop().__subclasses__():
            if subclass not in seen:
                seen[subclass] = None
                queue.append(subclass)
    yield from seen


def _as_method(inner: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """A plain function in place of a ``wrapt.FunctionWrapper``, for methods that are pushed on an ``ExitStack``.

    That takes whatever has ``__exit__`` for a context manager, and wrapt's proxies have.
    """

    @functools.wraps(inner)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return wrapper(functools.partial(inner, self), self, args, kwargs)

    return method
