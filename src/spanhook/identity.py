"""Objects of other libraries, which need not be hashable, comparable, weakly referenceable, or fit to be looked at."""

import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByIdentity(Generic[K, V]):
    """A weak dictionary by what an object is: its ``__hash__``, ``__eq__`` and ``__bool__`` are never called.

    An object without weak references is kept as long as this dictionary.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[K] | None, K | None, V]] = {}

    def get(self, key: K) -> V | None:
        """The value of an object; ``None`` if there is none."""
        found = self._kept.get(id(key))
        if found is None:
            return None
        reference, strong, value = found
        return value if (strong if reference is None else reference()) is key else None

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: object) -> bool:
        found = self._kept.get(id(key))
        return found is not None and (found[1] if found[0] is None else found[0]()) is key

    def __setitem__(self, key: K, value: V) -> None:
        known, strong = id(key), None
        try:
            # Of C, as an interrupt or an exception in it would be lost.
            reference = weakref.ref(key, partial(self._kept.pop, known))
        except TypeError:
            reference, strong = None, key
        self._kept[known] = reference, strong, value

    def setdefault(self, key: K, value: V) -> V:
        """The value of an object, which is ``value`` if there was none."""
        if key not in self:
            self[key] = value
        found = self._kept[id(key)]
        return found[2]

    def pop(self, key: K) -> V | None:
        """Remove an object; returns its value, or ``None`` if there was none."""
        if key not in self:
            return None
        return self._kept.pop(id(key))[2]

    def __iter__(self) -> Iterator[K]:
        entries = list(self._kept.values())
        found: Iterable[Any] = (strong if reference is None else reference() for reference, strong, _ in entries)
        return iter([one for one in found if one is not None])

    def values(self) -> list[V]:
        """The values."""
        return [value for _, _, value in list(self._kept.values())]


def attribute(owner: Any, name: str, default: Any = None) -> Any:
    """An attribute of another library's object; ``default`` if it has none, or if reading it fails."""
    try:
        return getattr(owner, name, default)
    except Exception:
        return default


def is_instance(one: Any, cls: type) -> bool:
    """``isinstance`` for an object whose ``__class__`` may fail."""
    try:
        return isinstance(one, cls)
    except Exception:
        return issubclass(type(one), cls)
