"""Decorated functions of the application: called like those of any library, by the function's own calling
convention.
"""

import copy
import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import attrgetter
from types import MethodType
from typing import Any, TypeVar, cast

import wrapt

from spanhook.engine._own_adapters import Own, function_adapter
from spanhook.engine._own_signature import parameters_of
from spanhook.engine.calls import acall, call
from spanhook.engine.handover import lazy
from spanhook.errors import ConfigurationError
from spanhook.model import Args, Kwargs, shed
from spanhook.semconv import Kind

F = TypeVar("F", bound=Callable[..., Any])


class BoundMethod(wrapt.BoundFunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """A decorated method bound to an object; copied and pickled like a method."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        around = getattr(self, "__self__", None)
        if around is None or isinstance(around, type):
            return self
        copied = copy.deepcopy(around, memo)
        return self._self_parent.__get__(copied, type(copied))

    def __reduce__(self) -> Any:
        around = getattr(self, "__self__", None)
        if around is None:  # accessed on the class
            return _named, (self.__module__, self.__qualname__)
        return getattr, (around, self.__name__)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


class Decorated(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """A decorated function, which looks like the function; copied and pickled as that is, but decorated.

    Args:
        function: What is decorated.
        kind: The kind of operation.
        own: What applies to every call.
    """

    __bound_function_wrapper__ = BoundMethod

    def __init__(self, function: Any, kind: Kind, own: Own) -> None:
        super().__init__(function, driver(function, kind, own))  # pyright: ignore[reportUnknownMemberType]
        self._self_kind: Kind = kind
        self._self_own: Own = own

    def __copy__(self) -> Any:
        return self._self_around(copy.copy)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._self_around(lambda wrapped: copy.deepcopy(wrapped, memo))

    def _self_around(self, copying: Callable[[Any], Any]) -> Any:
        wrapped = cast("Any", self.__wrapped__)  # pyright: ignore[reportUnknownMemberType]
        if isinstance(wrapped, staticmethod | classmethod):
            return self
        copied = copying(wrapped)
        return self if copied is wrapped else Decorated(copied, self._self_kind, self._self_own)

    def __reduce__(self) -> Any:
        wrapped = cast("Any", self.__wrapped__)  # pyright: ignore[reportUnknownMemberType]
        is_function = inspect.isroutine(wrapped) and not isinstance(wrapped, MethodType)
        if is_function or self._self_is_named():
            return self.__qualname__
        return Decorated, (wrapped, self._self_kind, self._self_own)

    def _self_is_named(self) -> bool:
        try:
            return _named(self.__module__, self.__qualname__) is self
        except Exception:
            return False

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()


def decorated(function: F, kind: Kind, own: Own) -> F:
    """``function`` as an operation.

    Args:
        function: A function, coroutine function, generator, async generator or method; ``staticmethod`` and
            ``classmethod`` may be applied before or after.
        kind: The kind of operation.
        own: What applies to every call.

    Raises:
        ConfigurationError: It is none of these.
    """
    return cast("F", Decorated(function, kind, own))


def driver(function: Any, kind: Kind, own: Own, *, unbound: bool = False) -> Callable[[Any, Any, Args, Kwargs], Any]:
    """What a wrapper of a function calls, with ``(wrapped, instance, args, kwargs)``, to make each call an operation.

    Args:
        function: As in ``decorated``.
        kind: The kind of operation.
        own: What applies to every call.
        unbound: Whether an instance is never among the function's arguments, although it is passed.

    Raises:
        ConfigurationError: It is no function.
    """
    is_wrapped = isinstance(function, staticmethod | classmethod)
    inner: Any = cast("Any", function).__func__ if is_wrapped else function
    if not _is_function(inner):
        raise ConfigurationError(f"{inner!r} cannot become an operation; decorate a function or method")
    code = _code_of(inner)
    if not inspect.isroutine(code):
        code = code.__call__  # an object with an async __call__ is async too
    name: str = getattr(inner, "__name__", "") or getattr(code, "__name__", "") or type(inner).__name__
    if name == "__call__":
        name = _class_around(inner) or type(inner).__name__
    parameters, of_method = parameters_of(inner)
    is_async_stream = inspect.isasyncgenfunction(code)
    is_stream = is_async_stream or inspect.isgeneratorfunction(code)
    adapter = function_adapter(kind, parameters, is_stream=is_stream)
    free, bound = (own.of(one, name, _about(inner)) for one in (parameters, of_method))
    if is_stream:
        make = partial(lazy, is_async=is_async_stream)
    else:
        make = acall if inspect.iscoroutinefunction(code) else call

    first = _first_of_method(inner)

    def wrapper(wrapped: Any, instance: Any, args: Args, kwargs: Kwargs) -> Any:
        try:
            if first and instance is None and args and (first == "self" or isinstance(args[0], type)):
                wrapped, instance, args = MethodType(wrapped, args[0]), args[0], args[1:]
            return make(adapter, wrapped, free if instance is None or unbound else bound, args, kwargs)
        except BaseException as error:
            shed(error)
            raise

    return wrapper


def is_agent(function: object) -> bool:
    """Whether a function, or a function inside its decorators, is decorated as an agent."""
    found: Any = function
    while found is not None:
        if isinstance(found, BoundMethod):
            found = found._self_parent
        if isinstance(found, Decorated) and getattr(found, "_self_kind", "") == "agent.invoke":
            return True
        found = getattr(found, "__wrapped__", None)
    return False


def _named(module: str, name: str) -> Any:
    """A module's attribute by name, which may be dotted."""
    return attrgetter(name)(import_module(module))


def _code_of(function: Any) -> Any:
    return cast("Any", function).func if isinstance(function, partial) else function


def _is_function(given: Any) -> bool:
    return callable(given) and not isinstance(given, type)


def _class_around(function: Any) -> str:
    """The name of the class that a function is defined in; empty if there is none."""
    around: str = getattr(function, "__qualname__", "").rpartition(".")[0].rpartition(".")[2]
    return "" if around == "<locals>" else around


def _first_of_method(function: Any) -> str:
    """The name of a method's first parameter, to which it may be given as an argument instead of being bound.

    ``property`` passes the object this way, and ``classmethod``, from Python 3.13 on, the class.
    """
    code = getattr(function, "__code__", None)
    name = code.co_varnames[0] if code is not None and code.co_argcount else ""
    return name if name in ("self", "cls") and _class_around(function) else ""


def _about(function: Any) -> str:
    """The first line of a function's docstring."""
    said = inspect.getdoc(function) if inspect.isroutine(function) else ""
    return said.partition("\n")[0] if said else ""
