"""Copies of what hooks read, so that a hook's in-place changes reach nobody else.

Plain data is copied, and types for which a library's adapter has registered a copier. Everything else (clients, data
frames, injected runtimes, the application's own classes) is passed on as it is.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import MappingProxyType, MemberDescriptorType
from typing import Any, TypeVar

T = TypeVar("T")
Copier = Callable[[Any], Any]

class_of: Callable[[Any], type[Any]] = type
"""The class of an object: ``type``, for the type checker."""

_set: Callable[[Any, Any, Any], None] = dict[Any, Any].__setitem__
_ATOMS: frozenset[type] = frozenset((str, int, float, bool, type(None), bytes, complex))
_MANY = 32
"""From this length on, it pays to check all items of a list at once, such as the numbers of an embedding."""


def copied(value: T) -> T:
    """A copy of ``value``, as deep as it consists of plain data and of types that adapters know.

    Raises:
        RecursionError: It is nested deeper than the interpreter's stack allows.
    """
    try:
        return _copied(value)
    except RecursionError:
        return _Cyclic().copied(value)


def _copied(value: Any) -> Any:
    kind = class_of(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        # Iterate over the copy, because another thread may be changing the original.
        twin = value.copy()
        for key, one in twin.items():
            if type(one) not in _ATOMS:
                twin[key] = _copied(one)
        return twin
    if kind is list:
        twin = value.copy()
        if len(twin) > _MANY and _ATOMS.issuperset(map(type, twin)):
            return twin
        for index, one in enumerate(twin):
            if type(one) not in _ATOMS:
                twin[index] = _copied(one)
        return twin
    copier = _copier(kind)
    return value if copier is None else copier(value)


def _copier(kind: type) -> Copier | None:
    known = _COPIERS
    for cls in kind.__mro__:
        if cls in known:
            return known[cls]
    return None


def copies(*kinds: type) -> Callable[[Copier], Copier]:
    """Decorate the function that copies instances of these classes and of their subclasses."""

    def add(copier: Copier) -> Copier:
        for kind in kinds:
            _COPIERS[kind] = copier
        return copier

    return add


def copies_models(base: type, package: str) -> None:
    """Have the pydantic models copied whose classes ``package`` defines, however they are derived.

    Args:
        base: ``pydantic.BaseModel``.
    """
    _PACKAGES.add(package)
    _COPIERS[base] = _copied_if_known


def alike(copy: Any, original: Any) -> bool:
    """Whether a copy still equals its original."""
    try:
        return _alike(copy, original)
    except Exception:
        return False  # its class cannot be compared


def _alike(copy: Any, original: Any) -> bool:
    """The same for what it consists of, whose classes may not say how they are compared."""
    kind = class_of(copy)
    if copy is original:
        return True
    if kind is not class_of(original):
        return bool(copy == original)
    if kind.__eq__ is object.__eq__:
        return _alike(copy.__dict__, original.__dict__)
    if copy == original:
        return True
    if kind is dict:
        return copy.keys() == original.keys() and all(_alike(one, original[key]) for key, one in copy.items())
    return kind in _LISTS and len(copy) == len(original) and all(map(_alike, copy, original))


_LISTS = frozenset((list, tuple))


def held(value: T, depth: int = 3) -> T:
    """The same value with its lists and dicts copied so many levels deep, and everything else shared.

    For values that are read later, when their owner may have added or removed items.
    """
    return _held(value, depth) if type(value) in _CONTAINERS else value


def _held(value: Any, depth: int) -> Any:
    kind = class_of(value)
    if kind is tuple:
        if _CONTAINERS.isdisjoint(map(type, value)):
            return value
        return tuple(_held(one, depth) if type(one) in _CONTAINERS else one for one in value)
    twin = value.copy()
    if depth > 1:
        for key, one in twin.items() if kind is dict else enumerate(twin):
            if type(one) in _CONTAINERS:
                twin[key] = _held(one, depth - 1)
    return twin


def copied_model(model: Any) -> Any:
    """A copy of a pydantic model: its fields, extra and private attributes copied, nothing validated."""
    twin: Any = _new(class_of(model))
    fields = model.__dict__.copy()
    for name, one in fields.items():
        if type(one) not in _ATOMS:
            fields[name] = _copied(one)
    extra, private = model.__pydantic_extra__, model.__pydantic_private__
    _put(twin, "__dict__", fields)
    _put(twin, "__pydantic_fields_set__", model.__pydantic_fields_set__.copy())
    _put(twin, "__pydantic_extra__", extra and _copied(extra))
    _put(twin, "__pydantic_private__", private and private.copy())
    return twin


def _copied_if_known(model: Any) -> Any:
    return copied_model(model) if class_of(model).__module__.partition(".")[0] in _PACKAGES else model


_PACKAGES: set[str] = set()
_new: Callable[[type[Any]], Any] = object.__new__
_put: Callable[[Any, str, Any], None] = object.__setattr__


def copied_dataclass(instance: Any) -> Any:
    """A copy of a dataclass instance, frozen or not, with its fields copied."""
    twin = copy.copy(instance)
    for name in instance.__dataclass_fields__:
        if hasattr(instance, name):
            object.__setattr__(twin, name, _copied(getattr(instance, name)))
    return twin


_CIRCUMSTANCES = ("__traceback__", "__cause__", "__context__", "__suppress_context__")
"""Attributes that say how an exception came about; the last one is set by setting the cause."""


def pass_circumstances(error: BaseException, other: BaseException) -> None:
    """Give an exception the circumstances of another one. Assigning them would fail for frozen dataclasses."""
    for name in _CIRCUMSTANCES:
        _put(other, name, getattr(error, name))


def without_circumstances(error: BaseException) -> None:
    """Remove an exception's traceback, cause and context, as if it had not been raised."""
    for name in _CIRCUMSTANCES[:3]:
        _put(error, name, None)


def copied_error(error: BaseException) -> BaseException:
    """A copy of an exception with the same class, arguments, attributes, traceback and causes.

    An exception that cannot be copied faithfully is returned as is, and so is everything that is not an ``Exception``.
    """
    if not isinstance(error, Exception):
        return error
    for make in (_remade, copy.copy):
        try:
            twin = make(error)
            same = type(twin) is type(error) and str(twin) == str(error) and repr(twin) == repr(error)
        except Exception:  # noqa: S112 - the class is somebody else's; whatever it raises, the next way is tried
            continue
        if same:
            pass_circumstances(error, twin)
            return twin
    return error


def _remade(error: Exception) -> Exception:
    """A copy made without ``__init__``, whose arguments are unknown."""
    twin = type(error).__new__(type(error), *error.args)
    twin.args = error.args
    twin.__dict__.update(_copied(error.__dict__))
    for cls in type(error).__mro__:
        for name, member in vars(cls).items():
            if type(member) is MemberDescriptorType and not hasattr(Exception, name):
                with suppress(AttributeError):  # an empty or read-only slot
                    setattr(twin, name, getattr(error, name))
    return twin


# ----------------------------------------------------------------------------------------------- containers


def _copied_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    """A copy of a dict subclass, including its instance's other attributes."""
    twin = copy.copy(value)
    for key, one in list(value.items()):
        _set(twin, key, _copied(one))
    return twin


def _copied_list(value: Any) -> Any:
    twin = copy.copy(value)
    for index, one in enumerate(list(value)):
        twin[index] = _copied(one)
    return twin


def _copied_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    changed = [_copied(one) for one in value]
    if all(new is old for new, old in zip(changed, value, strict=True)):
        return value
    if type(value) is tuple:
        return tuple(changed)
    make: Callable[[Iterable[Any]], Any] | None = getattr(value, "_make", None)
    return value if make is None else make(changed)


def _copied_view(value: "MappingProxyType[Any, Any]") -> "MappingProxyType[Any, Any]":
    return MappingProxyType(_copied(dict(value)))


_COPIERS: dict[type, Copier] = {
    dict: _copied_dict,
    list: _copied_list,
    deque: _copied_list,
    tuple: _copied_tuple,
    set: copy.copy,
    bytearray: bytearray,
    MappingProxyType: _copied_view,
}


_CONTAINERS: frozenset[type] = frozenset((dict, list, tuple))


class _Cyclic:
    """Copies values that contain themselves or are deeply nested: slower, because it remembers what it has copied."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}

    def copied(self, value: Any) -> Any:
        kind = class_of(value)
        if kind not in (dict, list):
            return value if kind in _ATOMS else self._opaque(value)
        known = self._known.get(id(value))
        if known is not None:
            return known
        if kind is dict:
            into: Any = {}
            self._known[id(value)] = into
            for key, one in value.copy().items():
                into[key] = self.copied(one)
        else:
            into = []
            self._known[id(value)] = into
            into.extend(self.copied(one) for one in list(value))
        return into

    def _opaque(self, value: Any) -> Any:
        copier = _copier(class_of(value))
        return value if copier is None else copier(value)
