"""One method in all classes of a metaclass, existing or future, and in other classes that stand in for them."""

import weakref
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, cast

from spanhook.diagnostics import internal, log
from spanhook.instrument._family import ByClass, descendants
from spanhook.instrument._wrapping import Binding, Wrapper, static

_FIRST = 100
"""How many elements of a container are looked at: it may also be one for data."""
_families = weakref.WeakSet["MetaFamily"]()


def meet(instance: Any) -> None:
    """Look at what an instance is made of, which may have been created before its library was bound."""
    for family in tuple(_families):
        family.meet(instance)


class MetaFamily:
    """A method, bound in the classes of a metaclass.

    A class is bound when it is created, so that whoever makes an instance of it, however, gets bound methods. What its
    instances are made of is looked at when they are created, and by ``meet``: there, objects of other classes stand in
    for those of the metaclass.

    Args:
        metaclass: The metaclass.
        attribute: The method's name.
        make: Makes the wrapper.
        picks: Whether the method is wrapped in a class.
    """

    def __init__(
        self,
        metaclass: type,
        attribute: str,
        make: Callable[[Binding], Callable[..., Any]],
        picks: Callable[[type], bool],
    ) -> None:
        self._metaclass, self._attribute, self._picks = metaclass, attribute, picks
        self._bound = ByClass(Binding, attribute, make)
        self._parts = weakref.WeakSet[type]()
        self._watching = [
            Binding(metaclass, "__init__", self._creating),
            Binding(metaclass, "__call__", self._instantiating),
        ]
        for cls in self._classes():
            self.bind(cls)
        _families.add(self)

    def _classes(self) -> list[type]:
        return [cls for cls in descendants(object) if issubclass(type(cls), self._metaclass)]

    def bind(self, cls: type) -> None:
        """Bind the method in the class that its instances get it from."""
        try:
            owner = self._owner(cls)
            if owner is not None and self._picks(owner):
                self._bound.bind(owner)
        except Exception as error:
            log.error("spanhook: cannot bind %s.%s; it is not gated", cls, self._attribute, exc_info=error)

    def _owner(self, cls: type) -> type | None:
        """The class that defines the method; ``cls`` itself if that is a class of another kind, such as a mixin."""
        for one in cls.__mro__:
            if self._attribute in one.__dict__:
                return one if issubclass(type(one), self._metaclass) else cls
        return None

    # ------------------------------------------------------------------------------------- classes and instances

    def _creating(self, binding: Binding) -> Callable[..., Any]:
        def created(wrapped: Any, cls: type, args: Any, kwargs: Any) -> None:
            wrapped(*args, **kwargs)
            if binding.on:
                self.bind(cls)

        return created

    def _instantiating(self, binding: Binding) -> Callable[..., Any]:
        def instantiated(wrapped: Any, _cls: type, args: Any, kwargs: Any) -> Any:
            made = wrapped(*args, **kwargs)
            if binding.on:
                self.meet(made)
            return made

        return instantiated

    def meet(self, instance: Any) -> None:
        """Bind the classes of what an instance is made of."""
        try:
            for cls in {type(part) for part in _parts_of(instance)}:
                if cls not in self._parts and not self._is_other(cls):
                    self._parts.add(cls)
                    self.bind(cls)
        except Exception as error:
            internal.report("meet", error)

    def _is_other(self, cls: type) -> bool:
        """Whether a class cannot stand in for one of the metaclass, because it is one, or Python's own."""
        return cls.__module__ == "builtins" or issubclass(type(cls), self._metaclass)

    # ------------------------------------------------------------------------------------- the end

    def unbound(self) -> Iterator[str]:
        """Methods that receive calls but are not bound."""
        for cls in self._classes():
            if self._owner(cls) is not cls or not self._picks(cls):
                continue
            found = static(cls, self._attribute)
            while found is not None and not issubclass(type(found), Wrapper):
                found = getattr(found, "__wrapped__", None)  # another wrapper, around ours
            if found is None:
                yield f"{cls.__module__}.{cls.__qualname__}.{self._attribute}"

    def restore(self) -> None:
        """Unbind the method in every class."""
        _families.discard(self)
        for binding in reversed(self._watching):
            binding.restore()
        self._bound.restore()
        self._parts.clear()


def _parts_of(instance: Any) -> Iterator[object]:
    """What an instance holds in its attributes, and among the first of lists and of the values of dicts there."""
    held = cast("dict[str, object]", getattr(instance, "__dict__", {}))
    for value in list(held.values()):
        if isinstance(value, list | tuple):
            yield from cast("list[object]", value[:_FIRST])
        elif isinstance(value, dict):
            yield from list(islice(cast("dict[object, object]", value).values(), _FIRST))
        else:
            yield value
