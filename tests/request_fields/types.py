"""The fields of a request that can hold text, from the types that an SDK has for it."""

import collections.abc
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

_DEEPEST = 5
_LISTS = (list, tuple, set, frozenset, collections.abc.Iterable, collections.abc.Sequence)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def text_fields(hint: Any, stop: Callable[[str], bool] = lambda _path: False) -> set[str]:
    """The dotted paths of fields that can hold text; items of lists and values of mappings have their list's path.

    Args:
        hint: A ``TypedDict``, a pydantic model, or a union of these.
        stop: Whether all inside of a path is accounted for.
    """
    return {path for path in _fields(hint, "", stop, ()) if path}


def parameter_fields(method: Any, stop: Callable[[str], bool] = lambda _path: False) -> set[str]:
    """``text_fields`` of the parameters of a method."""
    try:
        hints = typing.get_type_hints(method, include_extras=True)
    except (NameError, TypeError):
        hints = {}
    found: set[str] = set()
    for name, parameter in inspect.signature(method).parameters.items():
        if name != "self" and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            found.update(_fields(hints.get(name, Any), name, stop, ()))
    return found


def _fields(hint: Any, path: str, stop: Callable[[str], bool], around: tuple[Any, ...]) -> Iterator[str]:
    origin = get_origin(hint)
    is_text = hint in (str, Any, object, bytes) or origin in _MAPPINGS
    if (path and stop(path)) or is_text or isinstance(hint, TypeVar | str | typing.ForwardRef):
        yield path
    elif origin in (Union, types.UnionType, typing.Annotated, typing.Required, typing.NotRequired):
        inner = (
            get_args(hint)[:1] if origin in (typing.Annotated, typing.Required, typing.NotRequired) else get_args(hint)
        )
        for one in inner:
            yield from _fields(one, path, stop, around)
    elif getattr(origin, "__name__", "") in ("Required", "NotRequired", "Annotated"):
        yield from _fields(get_args(hint)[0], path, stop, around)
    elif hasattr(origin, "__value__"):  # an alias with parameters
        for one in get_args(hint):
            yield from _fields(one, path, stop, around)
    elif origin is Literal:
        return
    elif origin in _LISTS:
        for one in get_args(hint):
            yield from _fields(one, path, stop, around)
    elif (aliased := getattr(hint, "__value__", None)) is not None:
        yield from _fields(aliased, path, stop, around)
    elif inspect.isclass(hint):
        for name, one in _members(hint).items():
            if hint in around or len(around) > _DEEPEST:
                yield f"{path}.{name}" if path else name
            else:
                yield from _fields(one, f"{path}.{name}" if path else name, stop, (*around, hint))


def _members(cls: Any) -> Mapping[str, Any]:
    """The fields of a class that stands for JSON, with their types."""
    if typing.is_typeddict(cls) or hasattr(cls, "__required_keys__"):
        try:
            return typing.get_type_hints(cls, include_extras=True)
        except NameError:
            return dict.fromkeys(cls.__annotations__, Any)
    if hasattr(cls, "model_fields"):
        return {name: field.annotation for name, field in cls.model_fields.items()}
    if dataclasses.is_dataclass(cls):
        return {field.name: Any for field in dataclasses.fields(cls)}
    return {}


def shape_fields(shape: Any, stop: Callable[[str], bool]) -> set[str]:
    """``text_fields`` of a shape of botocore's service models."""
    return set(_shape_fields(shape, "", stop, ()))


def _shape_fields(shape: Any, path: str, stop: Callable[[str], bool], around: tuple[str, ...]) -> Iterator[str]:
    kind = shape.type_name
    if (path and stop(path)) or (kind == "structure" and getattr(shape, "is_document_type", False)):
        yield path
    elif kind == "structure":
        for name, one in shape.members.items() if shape.name not in around else ():
            yield from _shape_fields(one, f"{path}.{name}" if path else name, stop, (*around, shape.name))
    elif kind == "list":
        yield from _shape_fields(shape.member, path, stop, around)
    elif kind in ("map", "blob") or (kind == "string" and not shape.enum):
        yield path
